"""Time of day and initial sequence numbers: no effect on the analysis."""

from dataclasses import replace

import pytest
from captures import START
from hypothesis import example, given
from hypothesis import strategies as st
from properties.flows import FIRST, flows, render, stalled
from properties.tables import COMPARED, analysed, rows

initial_numbers = st.one_of(st.integers(0, 2**32 - 1), st.integers(2**32 - 3000, 2**32 - 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("shifts")


@given(steps=flows(), client=initial_numbers, server=initial_numbers)
@example(steps=stalled(), client=0, server=2**32 - 1)
def test_initial_sequence_numbers_change_no_row(folder, steps, client, server):
    plain = analysed(folder / "plain.pcap", render(steps))
    ends = replace(FIRST, client_initial=client, server_initial=server)
    shifted = analysed(folder / "shifted.pcap", render(steps, ends))
    for table in COMPARED:
        assert rows(shifted, table) == rows(plain, table), table


@given(steps=flows(), shift=st.integers(-START, (2**32 - 10**6) * 10**9 - START))
@example(steps=stalled(), shift=1)
def test_the_time_of_day_changes_nothing_but_times(folder, steps, shift):
    plain = analysed(folder / "plain.pcap", render(steps))
    shifted = analysed(folder / "shifted.pcap", render(steps, start=START + shift))
    for table in COMPARED:
        assert rows(shifted, table) == rows(plain, table, shift=shift), table


def test_a_stalled_flow_has_a_finding(folder):
    """Check that the examples above contain a finding."""
    assert analysed(folder / "stalled.pcap", render(stalled())).findings.height == 1
