"""Committed samples: equal to the generator's output, and named as in the paper."""

from pathlib import Path

import pytest

import tcptrace_http
from reference_sim.papers.heidemann_1996.printed_traces import FIGURES, packets, write_figures

SAMPLES = Path(__file__).parents[2] / "sample_traces"


def test_committed_figures_equal_the_generators_output(tmp_path):
    for written in write_figures(tmp_path):
        assert written.read_bytes() == (SAMPLES / written.name).read_bytes()


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figure_fills_the_printed_lengths_with_all_of_its_http_text(figure):
    # 14 bytes Ethernet, 20 IPv4, 20 TCP; the SYNs' options are not payload.
    payload = sum(len(frame) - 54 for _, frame in packets(figure)) - 8 * figure.name.endswith("figure2")
    assert payload == len(figure.request) + len(figure.response)
    assert figure.response.index(b"\r\n\r\n") + 4 == 226


@pytest.mark.parametrize(
    ("name", "detector", "low_ms", "high_ms"),
    [
        ("heidemann_1996_figure2.pcap", "short-initial-segment", 184, 186),
        ("heidemann_1996_figure4.pcap", "odd-short-final-segment", 166, 167.4),
    ],
)
def test_figure_is_named_as_in_the_paper(name, detector, low_ms, high_ms):
    findings = tcptrace_http.analyze(SAMPLES / name).findings.filter(severity="error")
    (finding,) = findings.iter_rows(named=True)
    assert finding["detector"] == detector
    assert finding["cause"] == "stall.nagle_delayed_ack"
    assert low_ms <= finding["lost"].total_seconds() * 1000 <= high_ms


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figure_is_one_complete_transaction(figure):
    transactions = tcptrace_http.analyze(SAMPLES / f"{figure.name}.pcap").transactions
    (row,) = transactions.iter_rows(named=True)
    assert (row["method"], row["status"], row["complete"]) == ("GET", 200, True)
    assert row["response_header_bytes"] == 226
    assert row["response_body_bytes"] == len(figure.response) - 226
