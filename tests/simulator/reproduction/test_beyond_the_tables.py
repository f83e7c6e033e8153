"""Claims beside the papers' tables: short simulations against known results."""

import pytest

from reference_sim.reproduction.experiment import Effort, Results
from reference_sim.reproduction.registry import experiments
from reference_sim.reproduction.verdict import Verdict
from reference_sim.simulation import simulate

#: G13 is not reproduced: the rate only falls if many connections begin at once.
KNOWN = {
    "G12": Verdict.REPRODUCED_IN_SHAPE,
    "G14": Verdict.REPRODUCED,
    "G15": Verdict.REPRODUCED,
    "H7": Verdict.REPRODUCED,
    "H8": Verdict.REPRODUCED,
    "H9": Verdict.REPRODUCED,
    "H10": Verdict.REPRODUCED,
    "H11": Verdict.REPRODUCED,
    "E9": Verdict.REPRODUCED,
    "E10": Verdict.REPRODUCED,
    "E11": Verdict.REPRODUCED,
    "E12": Verdict.REPRODUCED,
    "E13": Verdict.REPRODUCED,
    "E14": Verdict.REPRODUCED,
    "E15": Verdict.REPRODUCED,
    "B9": Verdict.REPRODUCED,
    "B10": Verdict.REPRODUCED,
    "B11": Verdict.REPRODUCED,
    "B12": Verdict.REPRODUCED,
    "B13": Verdict.REPRODUCED,
    "B14": Verdict.REPRODUCED,
    "B15": Verdict.REPRODUCED,
    "B16": Verdict.REPRODUCED,
    "B17": Verdict.REPRODUCED,
    "B18": Verdict.REPRODUCED,
    "B19": Verdict.REPRODUCED,
}


@pytest.mark.parametrize(("claim", "verdict"), KNOWN.items())
def test_the_verdict_follows_from_the_evidence(claim, verdict):
    experiment = experiments()[claim]
    measured = {}
    for run in experiment.runs(Effort(seeds=2, quick=True)):
        measured.setdefault(run.label, []).append(run.measure(simulate(run.scenario)))
    assert experiment.judge(Results(measured)).verdict is verdict
