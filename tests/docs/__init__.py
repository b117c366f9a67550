"""The documentation is true: its transcripts, its code, its generated pages and its links."""
