"""The symbolic interpreter and what it makes: graph, symbols, pending changes."""
