"""The recording: one SQLite file that holds a session, its writer and its readers.

A live session and a post-mortem are the same file; only the first still grows.
"""
