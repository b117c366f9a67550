"""The terminal user interface: a picture of one moment, drawn by panes that only draw."""
