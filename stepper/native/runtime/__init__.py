"""Who captures, when: from a call, by way of the frame hook, to a cache entry."""
