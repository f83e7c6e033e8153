"""Captures of a real kernel with a truth known by construction or from the kernel."""
