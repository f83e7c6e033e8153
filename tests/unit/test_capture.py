"""Capture files as bytes: whatever they are packed in, all that can be read is read."""

import gzip
import io
import os
from pathlib import Path

import pytest
from backports import zstd
from captures import LINUX_COOKED, START, clean_exchange, pcap, pcapng

import tcptrace_http
from tcptrace_http.capture import decode, expand
from tcptrace_http.capture_stream import CHUNK_BYTES, CaptureStream
from tcptrace_http.errors import UnknownFormat

NOBODY = 65534
CLEAN = pcap(clean_exchange())


@pytest.fixture
def file(tmp_path):
    def written(content: bytes, name: str = "x.pcap") -> str:
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return written


def unpacked(path: str) -> tuple[bytes, list[str]]:
    with CaptureStream(path) as stream:
        content = b"".join(bytes(chunk) for chunk in stream.chunks())
        return content, [one.kind for one in stream.strangeness]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["plain", "gzip", "zstd"])
def test_packing_is_known_by_content_and_not_by_name(file, pack):
    assert unpacked(file(pack(CLEAN), "misnamed.txt")) == (CLEAN, [])


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_members_one_after_the_other_are_one_capture(file, pack):
    half = len(CLEAN) // 2
    assert unpacked(file(pack(CLEAN[:half]) + pack(CLEAN[half:]))) == (CLEAN, [])


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_packed_file_cut_short_gives_all_before_the_cut(file, pack):
    noise = bytes(range(256)) * 4096
    packed = pack(CLEAN) + pack(noise)
    content, strange = unpacked(file(packed[: len(packed) - 6]))
    assert content.startswith(CLEAN)
    assert strange == ["capture_cut_short"]


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_garbage_after_packed_data_is_an_anomaly_and_no_error(file, pack):
    content, strange = unpacked(file(pack(CLEAN) + b"garbage that is no member"))
    assert content == CLEAN
    assert strange == ["malformed_block"]


def test_file_larger_than_a_chunk_is_whole(file):
    content = b"\xd4\xc3" + bytes(range(251)) * (3 * CHUNK_BYTES // 251)
    assert unpacked(file(content)) == (content, [])


def test_position_and_total_are_those_of_the_packed_file(file):
    packed = gzip.compress(CLEAN)
    with CaptureStream(file(packed)) as stream:
        assert sum(len(chunk) for chunk in stream.chunks()) == len(CLEAN)
        assert (stream.position, stream.total) == (len(packed), len(packed))


def test_cut_gzip_is_truncated_and_says_so_in_the_anomalies(file):
    trace = tcptrace_http.read(file(gzip.compress(CLEAN)[:-4]))
    assert trace.provenance.truncated
    assert trace.provenance.packets == len(clean_exchange())
    assert "capture_cut_short" in trace.anomalies["kind"].to_list()


def test_missing_file_directory_and_forbidden_file_are_told_apart(file, tmp_path):
    with pytest.raises(tcptrace_http.CaptureError, match="no such file"):
        decode(tmp_path / "absent.pcap")
    with pytest.raises(tcptrace_http.CaptureError, match="is a directory"):
        decode(tmp_path)
    path = Path(file(CLEAN))
    path.chmod(0)
    own = os.geteuid()
    if own == 0:
        os.seteuid(NOBODY)
    try:
        with pytest.raises(tcptrace_http.CaptureError, match="no permission"):
            decode(path)
    finally:
        if own == 0:
            os.seteuid(own)


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (b"", tcptrace_http.UnknownFormat, "empty"),
        (b"GIF89a and so on, no capture", tcptrace_http.UnknownFormat, "x.pcap"),
        (gzip.compress(b"plain text, packed"), tcptrace_http.UnknownFormat, "x.pcap"),
        (pcap(clean_exchange(), link_type=9999), tcptrace_http.UnsupportedLinkType, "9999"),
    ],
    ids=["empty", "picture", "packed text", "link type"],
)
def test_what_is_no_capture_is_a_clear_error(file, content, error, says):
    with pytest.raises(error, match=says) as raised:
        decode(file(content))
    assert raised.value.path.endswith("x.pcap")
    assert raised.value.what


def test_glob_names_its_files_in_order_and_an_existing_path_is_no_glob(file, tmp_path):
    names = [file(CLEAN, name) for name in ("a1.pcap", "a2.pcap", "b[1].pcap")]
    assert list(expand([str(tmp_path / "a*.pcap"), names[2], "-"])) == [*names, "-"]
    with pytest.raises(tcptrace_http.CaptureError, match="no file matches"):
        list(expand([str(tmp_path / "z*")]))


def test_what_is_written_is_read_again():
    records = clean_exchange()
    written = io.BytesIO()
    tcptrace_http.write_pcap(written, records)
    assert written.getvalue() == pcap(records)


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_trace_has_every_packet_with_its_exact_time(file, make):
    records = clean_exchange()
    packets = tcptrace_http.read(file(make(records))).packets
    assert packets["frame"].to_list() == list(range(1, len(records) + 1))
    assert packets["time"].to_physical().to_list() == [time for time, _ in records]
    assert packets["time"].to_physical()[0] == START


def test_link_type_of_the_file_decides_how_frames_are_decoded(file):
    provenance = tcptrace_http.read(file(pcap(clean_exchange(), link_type=LINUX_COOKED))).provenance
    assert provenance.packets == len(clean_exchange())
    assert provenance.tcp_packets == 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["plain", "gzip", "zstd"])
def test_capture_in_memory_has_the_rows_of_the_same_capture_in_a_file(file, pack):
    packed = pack(CLEAN)
    in_memory, on_disk = tcptrace_http.analyze(packed), tcptrace_http.analyze(file(packed))
    assert in_memory.transactions.equals(on_disk.transactions)
    assert in_memory.waits.equals(on_disk.waits)
    # Tables that are made on request are made of the same bytes once more.
    assert in_memory.segments.equals(on_disk.segments)
    assert tcptrace_http.read(packed).packets.equals(tcptrace_http.read(file(packed)).packets)


def test_bytes_that_are_no_capture_are_told_without_a_path():
    with pytest.raises(UnknownFormat, match=r"^<bytes>: "):
        tcptrace_http.analyze(b"no capture at all, whatever it is called")
