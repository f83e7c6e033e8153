"""Corner cases: the rows that follow from the RFCs, and tshark's agreement or a reason to differ."""

from __future__ import annotations

import pytest

import tcptrace_http

from . import CASES
from .script import Row, pcapng
from .tshark import ANALYSIS, opinion_of_us, opinions_of_tshark

COMPARED = ("streams", "requests", "responses", *ANALYSIS)


def analysed(case, folder):
    path = folder / "case.pcapng"
    path.write_bytes(pcapng(case.records))
    return tcptrace_http.analyze(path, tables=["segments"])


def row_of(found: dict[str, object]) -> Row:
    method, target = found["method"], found["target"]
    return Row(
        request=None if method is None else f"{method} {target}",
        status=found["status"],
        frames=(found["request_frame"], found["response_first_frame"], found["response_last_frame"]),
        body=found["response_body_bytes"],
        framing=found["response_framing"],
        complete=found["complete"],
        flow=found["flow"],
        request_body=found["request_body_bytes"],
        interim=found["interim_responses"],
        pipelined=found["pipelined"],
        missing=found["missing_bytes"],
        host=found["host"],
    )


@pytest.mark.parametrize("name", CASES)
def test_a_case_gives_the_rows_that_the_rfcs_make_of_it(name, tmp_path):
    case = CASES[name]
    analysis = analysed(case, tmp_path)
    rows = analysis.transactions.sort("flow", "index").iter_rows(named=True)
    assert [row_of(row) for row in rows] == case.rows
    assert sorted(analysis.anomalies.select("kind", "frame").rows(), key=str) == sorted(case.anomalies, key=str)


@pytest.mark.parametrize("name", CASES)
def test_a_case_gives_the_flows_and_segments_that_it_names(name, tmp_path):
    case = CASES[name]
    analysis = analysed(case, tmp_path)
    flows = analysis.flows.sort("flow").to_dicts()
    facts = [{key: flow[key] for key in wanted} for flow, wanted in zip(flows, case.flows, strict=True)]
    assert facts == case.flows
    for column, frames in case.segments.items():
        assert analysis.segments.filter(analysis.segments[column].cast(int) > 0)["frame"].to_list() == frames, (
            column
        )


@pytest.fixture(scope="session")
def tshark_says(tmp_path_factory):
    return opinions_of_tshark(CASES.values(), tmp_path_factory.mktemp("tshark"))


@pytest.mark.parametrize("name", CASES)
def test_tshark_agrees_or_there_is_a_reason_that_it_does_not(name, tshark_says, tmp_path):
    case = CASES[name]
    assert set(case.tshark_differs) <= set(COMPARED)
    ours = opinion_of_us(analysed(case, tmp_path))
    theirs = tshark_says[name]
    differs = {what: (ours[what], theirs[what]) for what in COMPARED if sorted(ours[what]) != sorted(theirs[what])}
    assert {what: differs[what] for what in differs.keys() - case.tshark_differs.keys()} == {}
    # An obsolete reason must be removed.
    assert case.tshark_differs.keys() - differs.keys() == set()
