"""Instructions per packet: equal to the committed table, so that no slowdown goes unnoticed."""

from __future__ import annotations

from typing import Final

import pytest

from tests.instructions.count import compiler, counted, known
from tests.instructions.traffic import KINDS

# Hash seeds change in each run and shift counts by less than a thousandth; another compiler shifts them more.
_TOLERANCE: Final = 0.03
_TOLERANCE_OF_ANOTHER_COMPILER: Final = 0.10


@pytest.mark.parametrize("kind", KINDS)
def test_a_packet_costs_as_many_instructions_and_as_much_memory_as_the_table_says(kind: str) -> None:
    rustc, counts = known()
    count, expected = counted(kind), counts[kind]
    tolerance = _TOLERANCE if compiler() == rustc else _TOLERANCE_OF_ANOTHER_COMPILER
    advice = "if that is meant, run python -m tests.instructions.count, and say why in the commit"
    assert count.instructions == pytest.approx(expected.instructions, rel=tolerance), advice
    assert count.peak_kib == pytest.approx(expected.peak_kib, rel=tolerance), advice
