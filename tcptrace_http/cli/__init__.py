"""Command line: one module per command; click is imported only here."""
