"""Captures of a real kernel whose right answer is known by construction or from the kernel itself."""
