"""Redaction of reports: possible secrets, spreadsheet formulas, invisible control characters."""

import csv
import io
import json

import pytest
from captures import ACK, MILLISECOND, PSH, Connection, pcap

from tcptrace_http.redaction import redacted_text, redacted_url

FORMATS = ("text", "json", "html", "har", "ndjson", "csv", "csv-safe")


def exchange(target=b"/p?k=s3cr3t&s3cr3t", host=b"a.example", referer=b"http://u:s3cr3t@r.example/s3cr3t"):
    connection = Connection()
    connection.open()
    request = b"GET %s HTTP/1.1\r\nHost: %s\r\nReferer: %s\r\n\r\n" % (target, host, referer)
    connection.from_client(request, PSH | ACK, after=MILLISECOND)
    head = b"HTTP/1.1 302 Found\r\nLocation: /s3cr3t\r\nContent-Length: 0\r\n\r\n"
    connection.from_server(head, PSH | ACK, after=300 * MILLISECOND)
    connection.from_client(after=20_000)
    connection.close()
    return pcap(connection.records)


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.pcap"
    path.write_bytes(exchange())
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_redacted_output_has_no_values_of_queries_nor_users(cli, secret, form):
    assert b"s3cr3t" in cli("analyze", "--format", form, secret).out
    result = cli("analyze", "--redact", "--format", form, secret)
    assert result.code == 0, result.err
    assert b"s3cr3t" not in result.out
    assert b"k=REDACTED" in result.out


def test_redaction_changes_only_named_values(cli, secret):
    plain, redacted = (
        json.loads(cli("analyze", *options, "--format", "json", secret).out) for options in ((), ("--redact",))
    )
    for name in ("target", "referer", "location"):
        for shown in (plain, redacted):
            shown["transactions"][0].pop(name, None)
    for shown in (plain, redacted):
        for finding in shown["findings"]:
            assert finding.pop("summary")
        shown["retrievals"] = [page["elapsed_ns"] for page in shown["retrievals"]]
    assert redacted == plain


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("/a", "/a"),
        ("/a?", "/a?REDACTED"),
        ("/a?token", "/a?REDACTED"),
        ("/a?k=v&l=w=x&token", "/a?k=REDACTED&l=REDACTED&REDACTED"),
        ("http://user:word@a.example/b?c=d", "http://REDACTED@a.example/b?c=REDACTED"),
        ("/a@b", "/a@b"),
    ],
)
def test_redacted_url_keeps_path_and_names(url, shown):
    assert redacted_url(url) == shown


def test_redacted_sentence_keeps_its_words():
    said = 'The object "/a?k=v" was fetched twice? Yes: http://u@h/ and /b?c=d&e=f.'
    assert redacted_text(said) == (
        'The object "/a?k=REDACTED" was fetched twice? Yes: http://REDACTED@h/ and /b?c=REDACTED&e=REDACTED'
    )


@pytest.mark.parametrize("host", [b"=cmd()", b"+1", b"-1", b"@SUM(A1)", b" =1"])
def test_csv_for_spreadsheets_has_no_formulas(cli, tmp_path, host):
    path = tmp_path / "formula.pcap"
    path.write_bytes(exchange(host=host))

    def cell(form):
        out = cli("analyze", "--format", form, path).out.decode()
        return next(csv.DictReader(io.StringIO(out)))["host"]

    assert cell("csv") == host.decode().strip()
    assert cell("csv-safe") == "'" + host.decode().strip()


def test_csv_for_spreadsheets_escapes_controls_and_keeps_numbers(cli, tmp_path):
    path = tmp_path / "controls.pcap"
    path.write_bytes(exchange(host="a\x85\u202eb".encode()))
    row = next(csv.DictReader(io.StringIO(cli("analyze", "--format", "csv-safe", path).out.decode())))
    assert row["host"] == "a\\x85\\u202eb"
    assert row["status"] == "302"


def test_archive_has_no_invisible_controls(cli, tmp_path):
    path = tmp_path / "controls.pcap"
    path.write_bytes(exchange(referer="a\x85\u202eb".encode()))
    out = cli("analyze", "--format", "har", path).out.decode()
    assert not {"\x85", "\u202e"} & set(out)
    headers = json.loads(out)["log"]["entries"][0]["request"]["headers"]
    assert {"name": "Referer", "value": "a\x85\u202eb"} in headers
