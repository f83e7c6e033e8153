"""Data gathered from the parts of a capture: independent of the division into parts."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptrace_http.detectors import DETECTORS, _detector, _host_pairs, _software

GATHERS = {each.name: each for detector in DETECTORS.values() for each in detector.gathers}
GATHERS["software"] = _software.SOFTWARE


@pytest.fixture(autouse=True, scope="module")
def small_limits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_host_pairs, "FLOWS_MAX", 12)
        patch.setattr(_host_pairs, "FLOWS_OF_A_PAIR_MAX", 3)
        patch.setattr(_detector, "FLAWED_MAX", 12)
        patch.setattr(_software, "PAIRS_MAX", 12)
        yield


@st.composite
def cut_rows(draw):
    """Return rows of flows of a few hosts in any order, and the division points."""
    count = draw(st.integers(1, 40))
    flows = draw(st.permutations(range(count)))
    hosts = st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"])
    rows = pl.DataFrame(
        {
            "flow": flows,
            "client": draw(st.lists(hosts, min_size=count, max_size=count)),
            "server": draw(st.lists(hosts, min_size=count, max_size=count)),
            "server_software": ["nginx"] * count,
            "flaw": ["capture_gap"] * count,
            "recovery": draw(st.lists(st.integers(0, 10**9), min_size=count, max_size=count)),
        },
        schema_overrides={"recovery": pl.Duration("ns")},
    )
    return rows, sorted(draw(st.lists(st.integers(0, count), max_size=5)))


@pytest.mark.parametrize("name", ["connections", "recoveries", "flaws", "software"])
@given(cut=cut_rows())
def test_merging_part_by_part_equals_merging_all(name, cut):
    rows, places = cut
    merged = GATHERS[name].merged
    kept = merged(rows.head(0).lazy()).collect()
    for first, last in zip([0, *places], [*places, rows.height], strict=True):
        kept = merged(pl.concat([kept, rows[first:last].select(kept.columns)]).lazy()).collect()
    assert kept.equals(merged(rows.select(kept.columns).lazy()).collect())
    assert kept.height <= 12
