"""What lives in the user's process: start-up, the controller, the evaluator and the control
channel.

Nothing in this room prints, imports torch, or shows in what the program can see of itself.
"""
