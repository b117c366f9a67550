"""Writes the code that runs in the frame's place, and the functions that go on after a break."""
