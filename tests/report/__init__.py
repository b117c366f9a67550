"""Reports: what they say, in each format, and what they must never say."""
