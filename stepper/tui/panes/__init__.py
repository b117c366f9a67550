"""The panes, one to a module."""
