"""HAR 1.2: valid by its schema, readable by an independent library, with the capture's times."""

import json
from pathlib import Path

import polars as pl
import pytest
from captures import ACK, MILLISECOND, PSH, Connection, clean_exchange, pcap
from detectors import packet_script
from haralyzer import HarParser
from jsonschema import Draft6Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT6

import tcptrace_http
from tcptrace_http.report import har

#: github.com/ahmadnassri/har-schema, version 2.0.0
SCHEMA = Path(__file__).parent / "har_schema"
PARTS = {path.name: json.loads(path.read_text()) for path in SCHEMA.glob("*.json")}
REGISTRY = Registry().with_resources(
    (f"{name}{end}", Resource(part, specification=DRAFT6)) for name, part in PARTS.items() for end in ("", "#")
)
VALIDATOR = Draft6Validator(PARTS["har.json"], registry=REGISTRY, format_checker=FormatChecker())
MILLISECONDS = ("blocked", "dns", "connect", "send", "wait", "receive", "ssl")


def archive(analysis):
    """Return the archive as another program reads it."""
    return json.loads(json.dumps(har.document([analysis])))


def problems(document) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)]


SAMPLES = ["objects_nginx_curl.pcap", "heidemann_1996_figure2.pcap", "bsd_phttp_orig.pcap", "fmt_any_sll2.pcap"]


@pytest.fixture(scope="module", params=SAMPLES)
def analysis(request, sample_traces):
    return tcptrace_http.analyze(sample_traces / request.param)


def test_archive_is_valid(analysis):
    document = archive(analysis)
    assert len(document["log"]["entries"]) == analysis.transactions.height > 0
    assert problems(document) == []


def test_schema_is_one_that_can_fail(analysis):
    document = archive(analysis)
    document["log"]["entries"][0]["request"]["url"] = "no URI at all"
    del document["log"]["entries"][0]["timings"]["wait"]
    assert len(problems(document)) == 2


def test_times_are_those_of_the_capture_in_milliseconds(analysis):
    length = (pl.col("end_time") - pl.col("start_time")).to_physical()
    rows = analysis.transactions.select("flow", "index", length).rows()
    elapsed = {(flow, index): length / 1e6 for flow, index, length in rows}
    for entry in archive(analysis)["log"]["entries"]:
        took = elapsed[entry["_flow"], entry["_transaction"]]
        assert entry["time"] == pytest.approx(took)
        assert entry["time"] == pytest.approx(sum(each for each in entry["timings"].values() if each != -1))
        assert entry["time"] == pytest.approx(
            sum(wait["end_ns"] - wait["start_ns"] for wait in entry["_waits"]) / 1e6
        )


def test_inapplicable_timings_are_minus_one(analysis):
    rows = analysis.transactions.select("flow", "index", "reused_connection").rows()
    reused = {(flow, index): is_reused for flow, index, is_reused in rows}
    for entry in archive(analysis)["log"]["entries"]:
        timings = entry["timings"]
        assert tuple(timings) == MILLISECONDS
        assert timings["dns"] == timings["ssl"] == -1
        assert (timings["connect"] == -1) == reused[entry["_flow"], entry["_transaction"]]
        assert min(timings[name] for name in ("send", "wait", "receive")) >= 0


def test_reader_that_is_not_ours_opens_it(analysis, tmp_path):
    path = tmp_path / "archive.har"
    with path.open("wb") as file:
        har.write([analysis], file)
    pages = HarParser(json.loads(path.read_text(encoding="utf-8"))).pages
    assert {page.page_id for page in pages if page.page_id != "unknown"} == {
        f"page_0_{retrieval}" for retrieval in analysis.retrievals["retrieval"]
    }
    entries = [entry for page in pages for entry in page.entries]
    assert sorted(entry.status for entry in entries) == sorted(analysis.transactions["status"].fill_null(0))
    first = min(entries, key=lambda entry: entry.startTime)
    assert first.startTime.replace(tzinfo=None).isoformat() == str(
        analysis.transactions["start_time"].min().replace(tzinfo=None).isoformat()
    )
    assert all(entry.request.method == "GET" for entry in entries)


def test_connect_is_of_the_first_transaction_alone(tmp_path):
    path = tmp_path / "three.pcap"
    path.write_bytes(pcap(clean_exchange(3)))
    entries = archive(tcptrace_http.analyze(path))["log"]["entries"]
    assert [entry["timings"]["connect"] == -1 for entry in entries] == [False, True, True]
    assert entries[0]["timings"]["connect"] == pytest.approx(1.01)


#: The TLS handshake lasts from the ACK of the SYN-ACK to the client's Finished: 50.17 ms.
TLS_EXCHANGES = """
+0.000000 C > S S 0:0(0) win 64240 <mss 1460>
+0.050000 S > C S 0:0(0) ack 1 win 65160 <mss 1460>
+0.050030 C > S . ack 1 win 64240
+0.050100 C > S P 1:301(300) ack 1 win 64240 {client_hello name=example.com}
+0.100100 S > C P 1:1201(1200) ack 301 win 65160 {server_flight bytes=1200}
+0.100120 C > S . ack 1201 win 64240
+0.100200 C > S P 301:365(64) ack 1201 win 64240 {client_flight}
+0.100300 C > S P 365:565(200) ack 1201 win 64240 {data}
+0.150300 S > C P 1201:2201(1000) ack 565 win 65160 {data}
+0.150320 C > S . ack 2201 win 64240
+0.160000 C > S P 565:765(200) ack 2201 win 64240 {data}
+0.210000 S > C P 2201:3201(1000) ack 765 win 65160 {data}
+0.210020 C > S . ack 3201 win 64240
"""


def test_ssl_is_the_part_of_connect_that_is_the_tls_handshake(tmp_path):
    path = tmp_path / "tls.pcap"
    path.write_bytes(packet_script.pcap(TLS_EXCHANGES))
    analysis = tcptrace_http.analyze(path)
    document = archive(analysis)
    assert problems(document) == []
    first, second = (entry["timings"] for entry in document["log"]["entries"])
    assert first["ssl"] == pytest.approx(50.17)
    assert first["connect"] == pytest.approx(100.2)
    assert second["ssl"] == second["connect"] == -1
    assert document["log"]["entries"][0]["time"] == pytest.approx(150.3)
    (page,) = document["log"]["pages"]
    assert (page["title"], page["pageTimings"]["onLoad"]) == ("", pytest.approx(210))
    assert {(entry["pageref"], entry["_opaque"]) for entry in document["log"]["entries"]} == {(page["id"], True)}


HOSTILE = [
    b"/<script>alert(1)</script>?a=\"'&b=%zz",
    b"/caf\xc3\xa9/\xff\xfe\x80?q=\xff",
    b"/redirect?to=http://elsewhere.example/x",
    b"http://proxied.example/a|b",
    b"*",
    b"no-slash",
    b"/" + b"%" * 500,
]


@pytest.mark.parametrize("target", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_target_breaks_nothing(tmp_path, target):
    connection = Connection()
    connection.open()
    connection.from_client(
        b"GET " + target + b" HTTP/1.1\r\nHost: a\xff<b>.example\r\n\r\n", PSH | ACK, MILLISECOND
    )
    connection.from_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", PSH | ACK, MILLISECOND)
    connection.close()
    path = tmp_path / "hostile.pcap"
    path.write_bytes(pcap(connection.records))
    document = archive(tcptrace_http.analyze(path))
    (entry,) = document["log"]["entries"]
    # URI readers must accept it; the sender is responsible for correct escapes.
    assert [problem for problem in problems(document) if "%" not in problem] == []
    assert entry["request"]["url"].startswith("http://")
    assert entry["request"]["url"].isascii()


def test_target_with_a_uri_in_its_query_is_a_path(tmp_path):
    path = tmp_path / "redirect.pcap"
    records = Connection()
    records.open()
    records.exchange(request=b"GET /to?u=http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", body=b"ok")
    path.write_bytes(pcap(records.records))
    (entry,) = archive(tcptrace_http.analyze(path))["log"]["entries"]
    assert entry["request"]["url"] == "http://a.example/to?u=http://b.example/"
    assert entry["request"]["queryString"] == [{"name": "u", "value": "http://b.example/"}]


def test_command_writes_it(tmp_path, sample_traces):
    from tcptrace_http.cli.main import run

    out = tmp_path / "page.har"
    assert run(["analyze", "--quiet", "--format", "har", "-o", str(out), str(sample_traces / SAMPLES[0])]) == 0
    assert problems(json.loads(out.read_text(encoding="utf-8"))) == []
