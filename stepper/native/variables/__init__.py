"""Trackers: one class per kind of Python value, one file per family. `builder` chooses among them
for values that exist; operations make the others."""
