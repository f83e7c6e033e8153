"""The command line: one command, one file; click is imported here and nowhere else."""
