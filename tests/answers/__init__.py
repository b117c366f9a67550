"""Programs from public reports, with the true cause, line and remedy of each, and what is answered.

Each program does what somebody reported, in as few lines as that takes. Whoever wrote it down
looked at torch's own logs (`TORCH_LOGS=recompiles,graph_breaks,guards`), and at what changed when
the remedy was applied. The tests ask stepper the same question and hold its answer to that.
"""
