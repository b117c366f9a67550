"""CPython's own tests, run with every frame through the native engine's hook and without.

`python -m tests.cpython` runs them, and writes docs/native-and-cpython.md.
"""
