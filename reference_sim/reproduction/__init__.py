"""The papers' claims, simulated and judged: the code of ``tcptrace-http reproduce``.

One experiment (:mod:`~reference_sim.reproduction.experiment`) shows a claim
(:mod:`~reference_sim.reproduction.claim`). The experiment lists its runs and compares their results
(:mod:`~reference_sim.reproduction.verdict`) with the paper's figures. The experiments are in
:mod:`reference_sim.papers`: one package per paper, one module per claim or table.
"""
