"""Capture files as bytes: every readable packet is read, in any compression or format."""

import bz2
import gzip
import io
import lzma
import os
import struct
import zlib
from pathlib import Path

import pytest
from backports import zstd
from captures import ETHERNET, LINUX_COOKED, START, clean_exchange, pcap, pcapng

import tcptrace_http
from tcptrace_http.capture import decode, expand
from tcptrace_http.capture_stream import CHUNK_BYTES, CaptureStream
from tcptrace_http.errors import UnknownFormat

NOBODY = 65534
CLEAN = pcap(clean_exchange())
PACKINGS = {"gzip": gzip.compress, "zstd": zstd.compress, "xz": lzma.compress, "bzip2": bz2.compress}


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


@pytest.mark.parametrize("pack", [bytes, *PACKINGS.values()], ids=["plain", *PACKINGS])
def test_packing_is_known_by_content_and_not_by_name(file, pack):
    assert unpacked(file(pack(CLEAN), "misnamed.txt")) == (CLEAN, [])


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_members_one_after_the_other_are_one_capture(file, pack):
    half = len(CLEAN) // 2
    assert unpacked(file(pack(CLEAN[:half]) + pack(CLEAN[half:]))) == (CLEAN, [])


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_packed_file_cut_short_gives_all_before_the_cut(file, pack):
    noise = bytes(range(256)) * 4096
    packed = pack(CLEAN) + pack(noise)
    content, strange = unpacked(file(packed[: len(packed) - 6]))
    assert content.startswith(CLEAN)
    assert strange == ["capture_cut_short"]


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_garbage_after_packed_data_is_an_anomaly_and_no_error(file, pack):
    content, strange = unpacked(file(pack(CLEAN) + b"garbage that is no member"))
    assert content == CLEAN
    assert strange == ["malformed_block"]


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress], ids=["xz", "bzip2"])
def test_padding_between_streams_is_no_data(file, pack):
    half = len(CLEAN) // 2
    padding = bytes(4)
    assert unpacked(file(pack(CLEAN[:half]) + padding + pack(CLEAN[half:]) + padding)) == (CLEAN, [])


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_packed_file_larger_than_a_chunk_is_whole(file, pack):
    content = os.urandom(CHUNK_BYTES) + bytes(9 * CHUNK_BYTES)
    assert unpacked(file(pack(content))) == (content, [])


def test_xz_block_that_needs_much_memory_is_not_unpacked(file):
    packed = bytearray(lzma.compress(CLEAN))
    # Block header (The .xz File Format, section 3.1): its last property is the dictionary size, 40 for 4 GiB.
    header = slice(12, 12 + (packed[12] + 1) * 4 - 4)
    packed[16] = 40
    packed[header.stop : header.stop + 4] = struct.pack("<I", zlib.crc32(packed[header]))
    assert unpacked(file(bytes(packed))) == (b"", ["malformed_block"])


def test_file_larger_than_a_chunk_is_whole(file):
    content = b"\xd4\xc3" + bytes(range(251)) * (3 * CHUNK_BYTES // 251)
    assert unpacked(file(content)) == (content, [])


def test_position_and_total_are_those_of_the_packed_file(file):
    packed = gzip.compress(CLEAN)
    with CaptureStream(file(packed)) as stream:
        assert sum(len(chunk) for chunk in stream.chunks()) == len(CLEAN)
        assert (stream.position, stream.total) == (len(packed), len(packed))


def test_truncated_gzip_is_reported_in_the_anomalies(file):
    trace = tcptrace_http.read(file(gzip.compress(CLEAN)[:-4]))
    assert trace.provenance.truncated
    assert trace.provenance.packets == len(clean_exchange())
    assert "capture_cut_short" in trace.anomalies["kind"].to_list()


def test_missing_file_directory_and_forbidden_file_are_distinguished(file, tmp_path):
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
def test_a_file_that_is_no_capture_is_a_clear_error(file, content, error, says):
    with pytest.raises(error, match=says) as raised:
        decode(file(content))
    assert raised.value.path.endswith("x.pcap")
    assert raised.value.what


def test_glob_names_its_files_in_order_and_an_existing_path_is_no_glob(file, tmp_path):
    names = [file(CLEAN, name) for name in ("a1.pcap", "a2.pcap", "b[1].pcap")]
    assert list(expand([str(tmp_path / "a*.pcap"), names[2], "-"])) == [*names, "-"]
    with pytest.raises(tcptrace_http.CaptureError, match="no file matches"):
        list(expand([str(tmp_path / "z*")]))


def test_written_scenarios_are_read_back():
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


def pktap(frame: bytes) -> bytes:
    """Return the macOS header before an Ethernet frame from en0."""
    return struct.pack("<III24s", 108, 1, ETHERNET, b"en0") + bytes(72) + frame


def juniper(frame: bytes) -> bytes:
    return b"MGC\x81\x00\x06\x03\x04abcd" + frame


@pytest.mark.parametrize(("link_type", "header"), [(258, pktap), (149, pktap), (178, juniper)])
def test_ethernet_frames_behind_a_header_of_the_capturing_system_are_read(file, link_type, header):
    records = clean_exchange()
    wrapped = pcap([(time, header(frame)) for time, frame in records], link_type=link_type)
    analysis = tcptrace_http.analyze(file(wrapped))
    assert analysis.transactions.equals(tcptrace_http.analyze(pcap(records)).transactions)
    assert analysis.anomalies.is_empty()


def unknown(path: str) -> list[str]:
    return tcptrace_http.analyze(path).anomalies.filter(kind="unknown_protocol")["detail"].to_list()


def other_ether_type(ether_type: int, count: int) -> list[tuple[int, bytes]]:
    return [(START, bytes(12) + struct.pack(">H", ether_type) + bytes(46))] * count


def test_protocols_are_reported_with_their_packets_without_tcp(file):
    records = [*other_ether_type(0x0806, 2), *other_ether_type(0x88CC, 12)]
    assert unknown(file(pcap(records))) == ["EtherType 0x88cc: 12 packets", "EtherType 0x0806: 2 packets"]


def test_beside_tcp_an_ether_type_is_distinguished_from_a_tenth_of_the_packets_on(file):
    records = clean_exchange(10)
    tenth = len(records) // 9 + 1
    arp = other_ether_type(0x0806, 3 * tenth)
    assert unknown(file(pcap([*other_ether_type(0x88E5, tenth), *records]))) == [
        f"EtherType 0x88e5: {tenth} packets"
    ]
    assert unknown(file(pcap([*other_ether_type(0x88E5, tenth // 2), *arp, *records]))) == []


@pytest.mark.parametrize("pack", [bytes, *PACKINGS.values()], ids=["plain", *PACKINGS])
def test_capture_in_memory_has_the_rows_of_the_same_capture_in_a_file(file, pack):
    packed = pack(CLEAN)
    in_memory, on_disk = tcptrace_http.analyze(packed), tcptrace_http.analyze(file(packed))
    assert in_memory.transactions.equals(on_disk.transactions)
    assert in_memory.waits.equals(on_disk.waits)
    # Tables made on request read the same bytes again.
    assert in_memory.segments.equals(on_disk.segments)
    assert tcptrace_http.read(packed).packets.equals(tcptrace_http.read(file(packed)).packets)


def test_bytes_that_are_no_capture_are_reported_without_a_path():
    with pytest.raises(UnknownFormat, match=r"^<bytes>: "):
        tcptrace_http.analyze(b"no capture at all, whatever it is called")
