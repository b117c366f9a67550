"""Tests of the front end's side of a session."""
