"""Instructions of CPython: reading them, asking about them, putting code together."""
