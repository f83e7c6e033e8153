"""The five papers: what they print, as data, and the experiments that show their claims.

One package or module a paper; each has ``EXPERIMENTS``, one for every claim of the paper in
``claims.toml``. Published figures are the CSV files here.
"""
