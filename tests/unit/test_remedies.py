"""Table of remedies: each entry names real settings, and each detector with a setting has an entry."""

from __future__ import annotations

from urllib.parse import urlsplit

import polars as pl
import pytest

from tcptrace_http.detectors import DETECTORS
from tcptrace_http.detectors._software import with_software
from tcptrace_http.remedies import remedies, settings_for, settings_for_all

#: No setting of a server, kernel or socket fixes these: the client or server program, the path, or the
#: capture must change.
WITHOUT_A_SETTING = {
    *("stretch-ack", "split-request", "delta-eligible-repeat", "redirect-chain", "expect-continue-wait"),
    *("parallel-connection-burst", "competing-bundle", "lost-pipelined-requests", "refused-connection"),
    *("request-lull", "head-of-line-blocking", "slow-server", "unanswered-request", "unanswered-connection"),
    *("tail-loss", "retransmission-timeout", "spurious-retransmission", "reordering", "syn-retransmission"),
    *("queueing-delay", "one-sided-capture", "mid-stream-start", "capture-gap", "truncated-payload"),
    *("segmentation-offload", "no-pure-acks", "local-acks", "slow-handshake-server"),
    *("h2-window-update-late", "h2-tcp-head-of-line", "h2-settings-wait"),
}
KNOWN = ("nginx", "Apache httpd", "lighttpd", "HAProxy", "Envoy", "Caddy", "Node.js", "Go net", "Go net/http")
OTHERS = ("Python http.server", "gunicorn", "uvicorn", "com.sun.net.httpserver", "Linux", "socket", "Python ssl")
OF_H2 = ("Kestrel", ".NET HttpClient", "grpc-go", "grpc-java")


def test_every_entry_names_detectors_that_there_are():
    for remedy in remedies():
        assert set(remedy.detectors) <= set(DETECTORS)
        assert remedy.detectors


def test_every_detector_that_a_setting_remedies_has_one():
    remedied = {name for remedy in remedies() for name in remedy.detectors}
    assert remedied.isdisjoint(WITHOUT_A_SETTING)
    assert remedied | WITHOUT_A_SETTING == set(DETECTORS)


def test_every_entry_has_place_setting_reason_and_source():
    for remedy in remedies():
        source = urlsplit(remedy.source)
        assert (source.scheme, bool(source.hostname), bool(source.path)) == ("https", True, True)
        assert remedy.where
        assert remedy.setting
        assert remedy.why.endswith(".")
        assert remedy.server == remedy.server.lower()
        assert not (remedy.server and remedy.is_silent)
        assert remedy.setting.isascii()


def test_all_servers_and_kernels_are_there():
    assert {remedy.where for remedy in remedies()} == {*KNOWN, *OTHERS, *OF_H2}


def test_no_entry_is_there_twice():
    entries = [(remedy.words, remedy.server, remedy.detectors) for remedy in remedies()]
    assert len(entries) == len(set(entries))


@pytest.mark.parametrize(
    ("server", "there", "not_there"),
    [
        ("nginx/1.22.1", "nginx: tcp_nodelay on;", "Node.js"),
        ("Apache/2.4.57 (Debian)", "socket: setsockopt(TCP_NODELAY, 1)", "nginx"),
        ("SimpleHTTP/0.6 Python/3.13", "Python http.server: StreamRequestHandler", "HAProxy"),
        ("unheard of", "socket: setsockopt(TCP_NODELAY, 1)", "nginx"),
        (None, "Node.js: http.createServer", "gunicorn"),
    ],
)
def test_settings_are_those_of_the_server_that_answered(server, there, not_there):
    found = settings_for("short-initial-segment", server)
    assert any(setting.startswith(there) for setting in found)
    assert not any(setting.startswith(not_there) for setting in found)


@pytest.mark.parametrize(("software", "told"), [(["nginx", "nginx"], "nginx"), (["nginx", "Apache"], None)])
def test_finding_has_the_software_that_was_seen_on_its_flow_or_in_the_capture(software, told):
    seen = pl.DataFrame({"flow": [0, 1], "server_software": software})
    findings = pl.DataFrame({"flow": [None, 1, 1], "server_software": [None, None, "own"]}, schema_overrides=TYPES)
    assert with_software(findings, seen)["server_software"].to_list() == [told, software[1], "own"]
    assert with_software(findings, seen.clear())["server_software"].to_list() == [None, None, "own"]


TYPES = {"flow": pl.Int64, "server_software": pl.String}


def test_settings_for_several_servers_are_those_of_each_that_says_its_name():
    both = settings_for_all("keep-alive-refused", ["nginx/1.22", None, "Apache/2.4"])
    assert set(both) == {
        *settings_for("keep-alive-refused", "nginx"),
        *settings_for("keep-alive-refused", "apache"),
    }
    assert set(settings_for_all("keep-alive-refused", [None])) == set(settings_for("keep-alive-refused", None))
