"""TLS with a key log, against the same exchanges in cleartext, and against tshark with the same key log.

One nginx serves two ports. Curl requests the same objects on one persistent connection each.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl
import pytest

import tcptrace_http
from tcptrace_http.cli.main import run
from tcptrace_http.explained_segment import explain_frame

from .recorded_tls import TARGETS, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .recorded_tls import Recorded

#: pcapng block types.
SECRETS, PACKET = ((number).to_bytes(4, sys.byteorder) for number in (10, 6))
#: Columns independent of the transport.
SAME: Final = (
    "index",
    "protocol",
    "version",
    "method",
    "target",
    "status",
    "content_type",
    "content_encoding",
    "request_header_bytes",
    "response_header_bytes",
    "response_body_bytes",
    "response_framing",
    "body_digest",
    "pipelined",
    "complete",
    "missing_bytes",
)


def test_decrypted_transactions_are_those_in_cleartext(recorded: Recorded) -> None:
    transactions = recorded.transactions
    clear = transactions.filter(flow=0).select(SAME)
    assert clear["target"].to_list() == list(TARGETS)
    assert clear["status"].to_list() == [200, 200, 200, 404, 200]
    assert clear["body_digest"].null_count() == 1
    for flow, version in enumerate(VERSIONS, start=1):
        decrypted = transactions.filter(flow=flow).select(SAME)
        assert decrypted.equals(clear), version


def test_waits_of_decrypted_transactions_add_up(recorded: Recorded) -> None:
    analysis = tcptrace_http.analyze(recorded.capture, keylog=recorded.keys)
    waits = analysis.waits.group_by("flow", "transaction").agg(
        (pl.col("end") - pl.col("start")).sum().alias("sum")
    )
    joined = analysis.transactions.join(waits, left_on=["flow", "index"], right_on=["flow", "transaction"])
    assert joined.height == analysis.transactions.height
    assert joined.filter(pl.col("sum") != pl.col("end_time") - pl.col("start_time")).is_empty()
    assert "unobserved" not in analysis.waits["cause"].cast(pl.String).to_list()


def test_frames_and_wire_bytes_are_those_of_the_records(recorded: Recorded) -> None:
    """Check that a message begins and ends in the packets of its records."""
    frames = ("flow", "index", "request_frame", "response_first_frame", "response_last_frame")
    records = ("first_record_time", "first_record_bytes", "response_wire_bytes")
    opaque = tcptrace_http.analyze(recorded.capture).transactions.filter(pl.col("flow") > 0)
    assert opaque["protocol"].unique().to_list() == ["tls"]
    shown = (*frames, *records)
    assert recorded.transactions.filter(pl.col("flow") > 0).select(shown).equals(opaque.select(shown))


def test_after_a_loss_decryption_continues(recorded: Recorded, tmp_path: Path) -> None:
    """Check a missing packet in the middle of one object: only that object's bytes change."""
    large = recorded.transactions.filter(target="/large.bin")
    middles = (large["response_first_frame"] + large["response_last_frame"]) // 2
    packets = tcptrace_http.read(recorded.capture).packets
    lost = [
        packets.filter((pl.col("frame") >= middle) & (pl.col("payload_bytes") > 0))["frame"][0]
        for middle in middles
    ]
    rest = recorded.without(tmp_path, *lost)
    transactions = rest.transactions
    assert (transactions.filter(target="/large.bin")["missing_bytes"] > 0).all()
    same = pl.exclude("missing_bytes", "body_digest")
    whole = recorded.transactions
    assert transactions.select(SAME).select(same).equals(whole.select(SAME).select(same))
    others = pl.col("target") != "/large.bin"
    assert transactions.filter(others).select(SAME).equals(whole.filter(others).select(SAME))


@pytest.mark.parametrize("flow", range(1, 1 + len(VERSIONS)), ids=VERSIONS)
def test_a_lost_end_of_the_handshake_hides_no_request(recorded: Recorded, tmp_path: Path, flow: int) -> None:
    packets = tcptrace_http.analyze(recorded.capture, tables=["packets"]).packets
    first = recorded.transactions.filter(flow=flow, index=0)["request_frame"][0]
    port = tcptrace_http.analyze(recorded.capture).flows.filter(flow=flow)["client_port"][0]
    flight = packets.filter(
        (pl.col("frame") < first) & (pl.col("source_port") == port) & (pl.col("payload_bytes") > 0)
    )
    rest = recorded.without(tmp_path, flight["frame"].to_list()[-1])
    whole = recorded.transactions
    assert rest.transactions.select(SAME).equals(whole.select(SAME))


@pytest.mark.parametrize("flow", [2, 4])
def test_lost_tickets_are_no_part_of_the_first_response(recorded: Recorded, tmp_path: Path, flow: int) -> None:
    analysis = tcptrace_http.analyze(recorded.capture, keylog=recorded.keys, tables=["segments"])
    finished = analysis.tls_handshakes.filter(flow=flow)["client_finished_frame"][0]
    answered = analysis.transactions.filter(flow=flow, index=0)["response_first_frame"][0]
    from_server = pl.col("direction").cast(pl.String) == "server_to_client"
    tickets = analysis.segments.filter(
        from_server,
        pl.col("flow") == flow,
        pl.col("payload_bytes") > 0,
        pl.col("frame").is_between(finished, answered, closed="none"),
    )["frame"].to_list()
    assert tickets
    for lost in (tickets, tickets[-1:]):
        assert (
            recorded.without(tmp_path, *lost).transactions.select(SAME).equals(analysis.transactions.select(SAME))
        )


def test_tshark_decrypts_the_same(recorded: Recorded) -> None:
    fields = ("tcp.stream", "frame.number", "http.request.method", "http.request.uri", "http.response.code")
    options = ["-o", f"tls.keylog_file:{recorded.keys}", "-d", f"tcp.port=={recorded.port},tls", "-Y", "http"]
    shown = [word for field in fields for word in ("-e", field)]
    command = ["tshark", "-n", "-r", str(recorded.capture), *options, "-T", "fields", *shown]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # tshark gives a response the target of its request.
    told = [
        (int(flow), int(frame), method or int(status), target if method else None)
        for flow, frame, method, target, status in (line.split("\t") for line in said.splitlines())
    ]
    ours: list[tuple[int, int, str | int, str | None]] = []
    for row in recorded.transactions.iter_rows(named=True):
        ours.append((row["flow"], row["request_last_frame"], row["method"], row["target"]))
        ours.append((row["flow"], row["response_last_frame"], row["status"], None))
    assert told == sorted(ours, key=lambda message: message[1])


def test_a_block_of_secrets_is_as_good_as_a_file(recorded: Recorded, tmp_path: Path) -> None:
    with_secrets = tmp_path / "secrets.pcapng"
    command = ["editcap", "--inject-secrets", f"tls,{recorded.keys}", str(recorded.capture), str(with_secrets)]
    subprocess.run(command, check=True)
    assert tcptrace_http.analyze(with_secrets).transactions.equals(recorded.transactions)


@pytest.fixture(scope="module")
def moved(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], bytes]:
    """Return a pcapng with its decryption secrets block before that frame."""
    with_secrets = tmp_path_factory.mktemp("secrets") / "secrets.pcapng"
    command = ["editcap", "--inject-secrets", f"tls,{recorded.keys}", str(recorded.capture), str(with_secrets)]
    subprocess.run(command, check=True)
    blocks = list(blocks_of(with_secrets.read_bytes()))
    (secrets,) = (block for block in blocks if block.startswith(SECRETS))
    rest = [block for block in blocks if block != secrets]
    packets = [at for at, block in enumerate(rest) if block.startswith(PACKET)]

    def moved(before: int) -> bytes:
        place = packets[before - 1] if before <= len(packets) else len(rest)
        return b"".join([*rest[:place], secrets, *rest[place:]])

    return moved


@pytest.mark.parametrize("before", [40, sys.maxsize], ids=["within", "behind"])
def test_secrets_of_a_file_decrypt_earlier_data(
    recorded: Recorded, moved: Callable[[int], bytes], tmp_path: Path, before: int
) -> None:
    capture = tmp_path / "moved.pcapng"
    capture.write_bytes(moved(before))
    for source in (capture, capture.read_bytes()):
        analysis = tcptrace_http.analyze(source)
        assert analysis.transactions.equals(recorded.transactions)
        assert analysis.anomalies.is_empty()


@pytest.mark.parametrize("way", ["pipe", "gzip"])
def test_secrets_decrypt_later_data(
    recorded: Recorded, moved: Callable[[int], bytes], tmp_path: Path, way: str
) -> None:
    """Check a decryption secrets block after the first TLS connection: it decrypts the later connections."""
    before = tcptrace_http.analyze(recorded.capture).flows.filter(flow=2)["first_frame"][0]
    content = moved(before)
    capture = tmp_path / "moved.pcapng.gz"
    capture.write_bytes(gzip.compress(content) if way == "gzip" else b"")
    command = [sys.executable, "-m", "tcptrace_http", "analyze", "--format", "ndjson"]
    source = ["-"] if way == "pipe" else [str(capture)]
    said = subprocess.run([*command, *source], input=content, check=True, capture_output=True).stdout
    told = [json.loads(line) for line in said.splitlines()]
    found = [(row["flow"], row["protocol"], row["target"]) for row in told if row["flow"] != 1]
    whole = recorded.transactions.filter(pl.col("flow") != 1)
    assert found == whole.select("flow", pl.col("protocol").cast(pl.String), "target").rows()
    assert {row["protocol"] for row in told if row["flow"] == 1} == {"tls"}
    said = subprocess.run(
        [*command, "--table", "anomalies", *source], input=content, check=True, capture_output=True
    ).stdout
    (late,) = map(json.loads, said.splitlines())
    assert (late["kind"], late["frame"]) == ("undecrypted_tls", before - 1)


def blocks_of(capture: bytes) -> Iterator[bytes]:
    """Yield the blocks of a pcapng file in this machine's byte order."""
    while capture:
        length = int.from_bytes(capture[4:8], sys.byteorder)
        yield capture[:length]
        capture = capture[length:]


def test_wrong_keys_are_reported_once_and_change_nothing(recorded: Recorded, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.log"
    digits = {digit: format(15 - int(digit, 16), "x") for digit in "0123456789abcdef"}
    inverted = (
        re.sub(r"[0-9a-f]+$", lambda secret: "".join(digits[digit] for digit in secret[0]), line)
        for line in recorded.keys.read_text().splitlines()
    )
    wrong.write_text("\n".join(["no secret", *inverted]))
    analysis = tcptrace_http.analyze(recorded.capture, keylog=wrong)
    without = tcptrace_http.analyze(recorded.capture)
    assert analysis.transactions.equals(without.transactions)
    assert analysis.findings.equals(without.findings)
    anomalies = analysis.anomalies.filter(pl.col("kind").cast(pl.String).is_in(["undecrypted_tls"]))
    told = anomalies.group_by("flow").len().sort("flow").rows()
    # Each direction of each connection.
    assert told == [(flow, 2) for flow, _ in enumerate(VERSIONS, start=1)]
    lines = analysis.anomalies.filter(pl.col("kind").cast(pl.String) == "malformed_key_log")["detail"]
    assert lines.to_list() == [f"{wrong} has 1 line without a secret: 1"]


#: Commands that read captures, each with its further arguments.
COMMANDS: Final = {
    "analyze": ["analyze"],
    "check": ["check"],
    "explain": ["explain", "--frame", "1"],
    "plot": ["plot", "waterfall", "-o", "chart.json"],
    "diff": ["diff", "other.pcap"],
    "infer": ["infer"],
    "whatif": ["whatif"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_key_log_that_cannot_be_read_is_named(
    recorded: Recorded,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.pcap").write_bytes(recorded.capture.read_bytes())
    missing = tmp_path / "missing.log"
    assert run([*COMMANDS[command], "--keylog", str(missing), str(recorded.capture)]) == 2
    said = capfdbinary.readouterr().err.decode()
    assert f"{missing}: the key log cannot be read: No such file or directory\n" in said


def test_reports_show_decrypted_content(recorded: Recorded, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    command = ["analyze", str(recorded.capture), "--keylog", str(recorded.keys)]
    assert run(command) == 0
    assert b"Not decrypted" not in capfdbinary.readouterr().out
    assert run([*command, "--format", "har"]) == 0
    told = json.loads(capfdbinary.readouterr().out)
    schemes = [entry["request"]["url"].partition(":")[0] for entry in told["log"]["entries"]]
    assert schemes.count("http") == len(TARGETS)
    assert schemes.count("https") == len(TARGETS) * len(VERSIONS)
    assert run(["analyze", str(recorded.capture)]) == 0
    assert b"Not decrypted: 4 TLS flows" in capfdbinary.readouterr().out


@pytest.mark.parametrize("format_name", ["text", "json", "html", "har"])
def test_no_output_has_a_secret(
    recorded: Recorded, format_name: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    secrets = {line.split()[-1] for line in recorded.keys.read_text().splitlines() if not line.startswith("#")}
    assert secrets
    assert run(["analyze", "--format", format_name, "--keylog", str(recorded.keys), str(recorded.capture)]) == 0
    told = capfdbinary.readouterr()
    assert b"/style.css" in told.out
    assert not any(secret.encode() in told.out + told.err for secret in secrets)


def test_the_difference_of_opaque_sides_uses_only_visible_facts(recorded: Recorded, tmp_path: Path) -> None:
    one, other = (recorded.of_flow(flow, tmp_path) for flow in (1, 2))
    difference = tcptrace_http.diff(one, other, keylog=recorded.keys)
    targets = difference.left.analysis.transactions["target"].to_list()
    assert targets == difference.right.analysis.transactions["target"].to_list() == list(TARGETS)
    hidden = tcptrace_http.diff(one, other)
    assert hidden.left.analysis.transactions["target"].null_count() == len(TARGETS)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["analyze", "--format", "ndjson", "-o"], b"/style.css"),
        (["plot", "waits", "-o"], b"/style.css"),
        (["diff", "other.pcap", "--format", "json", "-o"], b"/style.css"),
    ],
    ids=["analyze", "plot", "diff"],
)
def test_the_environment_names_a_key_log(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], told: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    capture = recorded.of_flow(2, tmp_path)
    Path("other.pcap").write_bytes(capture.read_bytes())
    output = tmp_path / "output.json"
    for keys in (None, recorded.keys):
        monkeypatch.delenv("SSLKEYLOGFILE", raising=False)
        if keys is not None:
            monkeypatch.setenv("SSLKEYLOGFILE", str(keys))
        assert run([*command, str(output), str(capture)]) == 0
        assert (told in output.read_bytes()) == (keys is not None)


def test_keys_name_the_objects_of_a_page_that_is_modelled_without_them_too(
    recorded: Recorded, tmp_path: Path
) -> None:
    capture = str(recorded.of_flow(2, tmp_path))
    for keys in ([], ["--keylog", str(recorded.keys)]):
        output = tmp_path / f"{len(keys)}.toml"
        assert run(["infer", *keys, "-o", str(output), capture]) == 0
        assert ("/style.css" in output.read_text()) == bool(keys)
        assert run(["whatif", "--fix", "no-nagle", *keys, capture]) == 0


def test_a_decrypted_segment_is_explained(recorded: Recorded) -> None:
    large = recorded.transactions.filter(flow=2, target="/large.bin")
    frame = large["response_last_frame"][0]
    explained = explain_frame(recorded.capture, frame, keylog=recorded.keys)
    assert explained.segment["transaction"] == large["index"][0]
    assert (explained.flow.number, explained.flow.protocol) == (2, "tls")
