"""Our own implementation of the system that the documents in `docs` describe."""
