"""The vocabulary of stepper: what a session is made of, as immutable typed records.

Every room speaks these words and no other. The records hold data only (strings, numbers, tuples),
so they can cross a process boundary, sit in a recording and be drawn years later without torch.
"""
