"""Tests of the line-mode debugger."""
