"""Reports: one format, one file."""
