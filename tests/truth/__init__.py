"""Kernel captures against their ground truth: contents and findings."""
