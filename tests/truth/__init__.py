"""The kernel captures against their ground truth: what is in them, what was found."""
