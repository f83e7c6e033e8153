"""The experiments that show the papers' claims."""
