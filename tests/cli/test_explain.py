"""``explain`` knows every name that a report can show."""

import pytest

from tcptrace_http.detectors import DETECTORS
from tcptrace_http.schema import ANOMALY_KINDS, CAUSES, TABLES

NAMES = [*DETECTORS, *CAUSES, *ANOMALY_KINDS, *TABLES, "flows.initial_rtt"]


@pytest.mark.parametrize("name", NAMES)
def test_name_is_explained(cli, name):
    result = cli("explain", name)
    assert result.code == 0
    assert len(result.out.decode().split()) > 5


def test_detector_is_explained_by_its_own_document(cli):
    assert "Nagle" in cli("explain", "short-initial-segment").out.decode()


def test_column_of_several_tables_is_explained_for_each(cli):
    text = cli("explain", "payload_bytes").out.decode()
    assert "packets.payload_bytes" in text
    assert "segments.payload_bytes" in text


def test_miss_names_what_is_near(cli):
    result = cli("explain", "short-inital-segment")
    assert result.code == 2
    assert "did you mean short-initial-segment" in result.err


def test_without_a_name_all_are_listed(cli):
    text = cli("explain").out.decode()
    assert all(name in text for name in NAMES[:-1])


def test_column_is_explained_with_its_unit_and_the_names_of_peers(cli):
    text = cli("explain", "client_rtt_mean").out.decode()
    assert text == cli("explain", "flows.client_rtt_mean").out.decode()
    assert "flows.client_rtt_mean (column, duration, nanoseconds, may be null, a statistic" in text
    assert "tcptrace RTT_avg_a2b" in text


def test_fields_of_a_peer_are_listed_with_their_columns(cli):
    text = cli("explain", "--peer", "tcptrace").out.decode()
    assert len(text.splitlines()) > 147
    one = cli("explain", "RTT_min_a2b", "--peer", "tcptrace").out.decode()
    assert "flows.client_rtt_min" in one
    assert "RTT_max" not in one
    assert "did you mean" in cli("explain", "RTT_mn_a2b", "--peer", "tcptrace").err
