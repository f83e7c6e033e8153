"""HAR 1.2: valid by its schema, read by a library that is not ours, and the times of a capture in it."""

import json
from pathlib import Path

import polars as pl
import pytest
from captures import ACK, MILLISECOND, PSH, Connection, clean_exchange, pcap
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
MILLISECONDS = ("blocked", "dns", "connect", "send", "wait", "receive")


def archive(analysis):
    """The archive as whoever reads the file sees it."""
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


def test_what_does_not_apply_is_minus_one(analysis):
    rows = analysis.transactions.select("flow", "index", "reused_connection").rows()
    reused = {(flow, index): is_reused for flow, index, is_reused in rows}
    for entry in archive(analysis)["log"]["entries"]:
        timings = entry["timings"]
        assert tuple(timings) == MILLISECONDS
        assert timings["dns"] == -1
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
    # A reader of URIs must not stumble; whether each escape is one is the sender's affair.
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
