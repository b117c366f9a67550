"""stepper as a plugin of pytest."""
