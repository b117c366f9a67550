"""The native engine: captured programs against the programs themselves."""
