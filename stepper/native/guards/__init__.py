"""What must hold for captured code to be run, from a fact that was used to a `check_fn`."""
