"""Claims of the table: each has a test, and each test has a claim."""

import re

from tests.simulator import claims
from tests.simulator.claims import test_heidemann
from tests.simulator.reproduction import test_bhalekar_2003, test_eggert_1999, test_kruse_2001

MODULES = {"H": test_heidemann, "K": test_kruse_2001, "B": test_bhalekar_2003, "E": test_eggert_1999}
CLAIM = re.compile(r"^([HKBE]\d+) ", re.MULTILINE)


def claims_shown(module):
    names = (re.match(r"test_([a-z]\d+)_", name) for name in vars(module))
    return {name[1].upper() for name in names if name}


def test_every_claim_has_a_test_in_its_papers_module():
    listed = CLAIM.findall(claims.__doc__)
    assert len(listed) == 31
    for letter, module in MODULES.items():
        assert claims_shown(module) == {claim for claim in listed if claim[0] == letter}
