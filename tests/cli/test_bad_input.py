"""Bad input: always a clear message or an anomaly, the right exit code, and no traceback."""

import gzip
import json
import struct

import pytest
from backports import zstd
from captures import (
    ACK,
    START,
    Connection,
    block,
    clean_exchange,
    enhanced_packet,
    interface,
    pcap,
    pcapng,
    section_header,
    tcp,
)

RECORDS = clean_exchange()
UNUSABLE = 2


def document(cli, path) -> dict:
    result = cli("analyze", "--format", "json", path)
    assert result.code == 0, result.err
    return json.loads(result.out)


@pytest.fixture
def file(tmp_path):
    def written(content: bytes):
        path = tmp_path / "bad.pcap"
        path.write_bytes(content)
        return path

    return written


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xd4",
        b"not a capture at all",
        pcap([])[:23],
        section_header()[:20],
        gzip.compress(b"text"),
        gzip.compress(pcap(RECORDS))[:12],
        b"\x1f\x8b garbage",
        zstd.compress(pcap(RECORDS))[:8],
        pcap(RECORDS, link_type=9999),
        pcapng(RECORDS, link_type=9999),
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 77, 0, -1)),
    ],
    ids=[
        "empty", "one byte", "text", "half a pcap header", "half a section header", "packed text",
        "start of gzip", "damaged gzip", "start of zstd", "pcap link type", "pcapng link type", "future version",
    ],
)  # fmt: skip
def test_unreadable_file_is_one_clear_line_and_exit_code_2(cli, file, content):
    path = file(content)
    result = cli("analyze", path)
    assert result.code == UNUSABLE
    assert result.out == b""
    assert result.err.startswith(f"tcptrace-http: {path}: ")
    assert result.err.count("\n") == 1
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"snoop\0\0\0", "a snoop capture; only pcap and pcapng are read; convert it: {editcap}"),
        (b"GMBU", "a Network Monitor 2 capture; only pcap and pcapng are read; convert it: {editcap}"),
        (b"\x04\x22\x4d\x18", "lz4 data; decompress it: lz4 -dc {path} | tcptrace-http analyze -"),
    ],
    ids=["snoop", "NetMon", "lz4"],
)  # fmt: skip
def test_other_format_is_refused_with_the_command_that_converts_it(cli, tmp_path, content, says):
    path = tmp_path / "other format"
    path.write_bytes(content + bytes(90))
    quoted = f"'{path}'"
    says = says.format(path=quoted, editcap=f"editcap -F pcapng {quoted} {quoted}.pcapng")
    assert cli("analyze", path).err == f"tcptrace-http: {path}: {says}\n"


def test_missing_file_directory_and_glob_without_match_say_so(cli, tmp_path):
    bad = {tmp_path / "absent": "no such file", tmp_path: "is a directory", tmp_path / "*.x": "no file"}
    for path, says in bad.items():
        result = cli("analyze", path)
        assert result.code == UNUSABLE
        assert str(path) in result.err
        assert says in result.err


def test_one_unreadable_capture_of_several_does_not_keep_the_others_back(cli, file, clean):
    result = cli("analyze", "--format", "json", file(b"junk"), clean)
    assert result.code == 0
    assert "bad.pcap" in result.err
    assert b"clean.pcap" in result.out
    assert b"bad.pcap" not in result.out


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_capture_cut_inside_its_last_packet_keeps_the_others_and_says_so(cli, file, make):
    path = file(make(RECORDS)[:-10])
    result = cli("analyze", path)
    assert result.code == 0
    assert "cut short" in result.err
    assert b"cut short" in result.out
    shown = document(cli, path)
    assert shown["capture"]["truncated"] is True
    assert shown["capture"]["packets"] == len(RECORDS) - 1
    assert "capture_cut_short" in [anomaly["kind"] for anomaly in shown["anomalies"]]


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_capture_cut_at_any_byte_is_analysed_or_refused_in_one_line(cli, file, make):
    whole = make(RECORDS[:5])
    counts = []
    # Every byte of the headers and the first packets, then a sample of the payload bytes.
    lengths = [*range(420), *range(420, len(whole), 37), *range(len(whole) - 40, len(whole))]
    for length in lengths:
        result = cli("analyze", "--format", "json", "--quiet", file(whole[:length]))
        assert result.code in {0, UNUSABLE}
        assert result.err.count("\n") == (1 if result.code else 0)
        if result.code == 0:
            counts.append(json.loads(result.out)["capture"]["packets"])
    assert counts == sorted(counts)
    assert counts[-1] == 4


@pytest.mark.parametrize("suffix", ["gzip", "zstd"])
def test_truncated_compressed_capture_is_analysed_up_to_its_end(cli, file, suffix):
    pack = {"gzip": gzip.compress, "zstd": zstd.compress}[suffix]
    # Longer than zstd's blocks: a cut block yields no data.
    records = clean_exchange(60)
    path = file(pack(pcap(records))[:-3])
    shown = document(cli, path)
    assert shown["capture"]["truncated"] is True
    assert 0 < shown["capture"]["packets"] <= len(records)
    assert "capture_cut_short" in [anomaly["kind"] for anomaly in shown["anomalies"]]


def test_lying_record_length_ends_the_capture_without_eating_memory(cli, file):
    lying = struct.pack("<IIII", 0, 0, 0xFFFFFFF0, 0xFFFFFFF0)
    result = cli("analyze", file(pcap(RECORDS) + lying + bytes(64)))
    assert result.code == 0
    assert "Traceback" not in result.err


def test_lying_ip_and_tcp_lengths_are_anomalies(cli, file):
    good = tcp(("10.0.0.1", 1029), ("10.0.0.2", 8080), 1, 1, ACK, b"payload")
    long_ip = good[:16] + struct.pack(">H", 65000) + good[18:]
    long_tcp = good[:46] + b"\xf0" + good[47:]
    short_header = good[:14] + b"\x41" + good[15:]
    shown = document(cli, file(pcap([(START, frame) for frame in (long_ip, long_tcp, short_header)])))
    assert shown["capture"]["packets"] == 3
    assert len(shown["anomalies"]) >= 2


def test_bad_blocks_in_the_middle_of_a_pcapng_are_skipped(cli, file):
    packets = [enhanced_packet(time, frame) for time, frame in RECORDS]
    bad = block(6, bytes(4))
    unknown = block(0x0BAD0BAD, b"anything")
    content = section_header() + interface() + b"".join([*packets[:3], bad, unknown, *packets[3:]])
    shown = document(cli, file(content))
    assert shown["capture"]["packets"] >= len(RECORDS)
    assert len(shown["transactions"]) == 1
    assert "malformed_block" in [anomaly["kind"] for anomaly in shown["anomalies"]]


@pytest.mark.parametrize("time", [0, 2**32 * 1_000_000_000 - 1, 2**64 - 1])
def test_absurd_time_is_no_reason_to_stop(cli, file, time):
    frame = RECORDS[0][1]
    content = section_header() + interface() + enhanced_packet(time, frame) + enhanced_packet(START, frame)
    path = file(content)
    assert document(cli, path)["capture"]["packets"] == 2
    assert cli("analyze", path).code == 0


def test_packets_cut_by_the_snapshot_length_are_no_error(cli, file):
    snapped = b"".join(
        struct.pack("<IIII", time // 10**9, time % 10**9, min(len(frame), 60), len(frame)) + frame[:60]
        for time, frame in RECORDS
    )
    shown = document(cli, file(pcap([]) + snapped))
    assert shown["capture"]["packets"] == len(RECORDS)
    assert shown["capture"]["tcp_packets"] == len(RECORDS)


def test_target_with_escape_sequences_cannot_steer_the_terminal(cli, file):
    connection = Connection()
    connection.open()
    connection.exchange(request=b"GET /\x1b]0;owned\x07\xff HTTP/1.1\r\nHost: h\r\n\r\n")
    result = cli("analyze", file(pcap(connection.records)))
    assert result.code == 0
    assert b"\x1b" not in result.out
    assert b"\x07" not in result.out


def test_output_that_cannot_be_written_is_one_line(cli, clean, tmp_path):
    result = cli("analyze", "-o", tmp_path / "absent" / "out.txt", clean)
    assert result.code == UNUSABLE
    assert result.err.count("\n") == 1
    assert "out.txt" in result.err


def test_output_is_never_written_over_a_capture(cli, clean):
    before = clean.read_bytes()
    result = cli("analyze", "-o", clean, clean)
    assert result.code == UNUSABLE
    assert clean.read_bytes() == before
