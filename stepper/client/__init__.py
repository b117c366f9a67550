"""The front end's side of a session: start a program or open a recording, look at it, control it.

Nothing here imports torch or draws anything. `session` is the live or finished session, `launch`
starts one, `cursor` is the place a person looks at, `text` turns records into plain lines.
"""
