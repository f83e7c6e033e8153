"""The papers' claims, simulated again and judged: what ``tcptrace-http reproduce`` runs.

A claim (:mod:`~reference_sim.reproduction.claim`) is shown by one experiment
(:mod:`~reference_sim.reproduction.experiment`): the runs that it needs, and how their results are
judged (:mod:`~reference_sim.reproduction.verdict`) beside what the paper prints. The experiments are
in :mod:`reference_sim.papers`, a package a paper, a module a claim or table.
"""
