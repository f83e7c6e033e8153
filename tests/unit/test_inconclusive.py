"""Needs of each detector, and the output on flows that lack them."""

from datetime import timedelta

import polars as pl
import pytest

from tcptrace_http import schema
from tcptrace_http.detectors import DETECTORS, NEEDS, Detector, grouped, inconclusive
from tcptrace_http.detectors._detector import SPOILED_FACTOR, as_findings

NEEDY = Detector("needy", lambda _: found(0, 1, None), "", ("flows",), ("handshake", "no_gaps"))


def flaws(*rows: tuple[int, str]) -> pl.DataFrame:
    """Return one HTTP flow and flaw per row."""
    types = schema.polars_schema(schema.TABLES["flaws"])
    rest = {"has_messages": True, "server_port": 80, "direction": None, "frame": 7, "count": 1, "bytes": 100}
    return pl.DataFrame([{"flow": flow, "flaw": flaw} | rest for flow, flaw in rows], schema=types)


def found(*flows: int | None) -> pl.LazyFrame:
    own = {
        "transaction": None, "first_frame": 1, "last_frame": 2, "start": None, "lost": timedelta(0),
        "confidence": 0.9, "cause": None, "summary": "s", "evidence": "e", "remedy": "r",
    }  # fmt: skip
    types = schema.polars_schema(schema.TABLES["findings"])
    rows = [{"flow": flow} | own for flow in flows]
    return pl.LazyFrame(rows, schema={name: types[name] for name in ("flow", *own)})


def findings(flawed: pl.DataFrame) -> pl.DataFrame:
    transactions = pl.DataFrame(schema=schema.polars_schema(schema.TABLES["transactions"]))
    tables = {"flaws": flawed, "transactions": transactions}
    return as_findings(NEEDY, NEEDY.find(tables).collect(), tables).collect()


def test_flow_without_a_detectors_needs_and_findings_counts():
    flawed = flaws((0, "mid_stream_start"), (2, "mid_stream_start"), (3, "mid_stream_start"), (3, "capture_gap"))
    rows = inconclusive([NEEDY], flawed, findings(flawed)).select("detector", "because", "flows", "flow").rows()
    assert rows == [("needy", "capture-gap", 1, 3), ("needy", "mid-stream-start", 2, 2)]


def test_flows_are_counted_for_a_detector_without_findings():
    flawed = flaws((0, "mid_stream_start"), (2, "mid_stream_start"))
    rows = inconclusive([NEEDY], flawed, findings(flawed).clear()).select("detector", "flows", "flow").rows()
    assert rows == [("needy", 2, 0)]


def test_flaw_that_spoils_nothing_the_detector_needs_does_not_count():
    flawed = flaws((2, "segmentation_offload"))
    assert inconclusive([NEEDY], flawed, findings(flawed)).is_empty()


def test_flow_without_http_does_not_count():
    flawed = flaws((2, "capture_gap")).with_columns(has_messages=False)
    assert inconclusive([NEEDY], flawed, findings(flawed)).is_empty()


def test_flaws_of_parts_of_a_capture_are_grouped_as_those_of_the_whole():
    flawed = flaws(*((flow, "mid_stream_start") for flow in range(9)), (4, "capture_gap"))
    parts = [flawed.filter(pl.col("flow") % 2 == rest) for rest in (0, 1)]
    assert grouped(pl.concat(map(grouped, parts))).equals(grouped(flawed))


def test_finding_in_a_flow_without_its_detectors_needs_is_less_certain():
    confidences = dict(
        findings(flaws((1, "capture_gap"), (1, "mid_stream_start"))).select("flow", "confidence").rows()
    )
    assert confidences == {0: 0.9, 1: pytest.approx(0.9 * SPOILED_FACTOR), None: 0.9}


def test_finding_of_a_sound_capture_keeps_its_confidence():
    assert set(findings(flaws((1, "segmentation_offload")))["confidence"]) == {0.9}
    assert set(findings(flaws())["confidence"]) == {0.9}


@pytest.mark.parametrize("name", DETECTORS)
def test_every_detector_states_its_needs(name):
    detector = DETECTORS[name]
    assert hasattr(__import__(detector.find.__module__, fromlist=["NEEDS"]), "NEEDS")
    assert set(detector.needs) <= set(NEEDS)
    assert not detector.needs or not detector.reads_flaws


def test_every_flaw_has_the_need_that_it_spoils_and_the_detector_that_shows_it():
    assert [need.flaw for need in NEEDS.values()] == list(schema.FLAWS)
    assert {flaw.replace("_", "-") for flaw in schema.FLAWS} == {
        each.name for each in DETECTORS.values() if each.reads_flaws
    }
