"""Programs of which a part is replaced after they have been captured: see `running`."""
