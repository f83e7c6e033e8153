"""Tests of the experiments for the papers' claims."""
