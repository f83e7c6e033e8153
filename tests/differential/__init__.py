"""Decoder and analyser against other programs on the same captures."""
