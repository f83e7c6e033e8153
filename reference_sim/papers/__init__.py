"""The five papers: published figures as data, and the experiments for their claims.

Each paper is a package or module with ``EXPERIMENTS``: one experiment per claim in ``claims.toml``. The CSV
files here hold the published figures.
"""
