"""What stepper leaves alive: programs that compile again and again, and counts of what stays.

`python -m tests.lifetime` compares a long run of each way of being watched with the same run
unwatched; the tests take a short one.
"""
