"""The vocabulary of stepper: what a session is made of, as immutable typed records.

Every room speaks these words and no other. The records hold data only (strings, numbers, tuples),
so they can cross a process boundary, sit in a recording and be drawn years later without torch.

Records that there are thousands of hold no others but such that hold none: they can be in no cycle,
and are not looked at when the user's process, or ours, collects its garbage (`gc=False`).
"""
