"""Packets of scapy and dpkt, and pairs of (time, bytes): the same tables as from their file."""

import io
import logging
from decimal import Decimal

import dpkt
import pytest
from captures import LINUX_COOKED, START, clean_exchange, pcap, stalled_exchange

import tcptrace_http
from tcptrace_http.errors import CaptureError, MissingExtra, UnknownName
from tcptrace_http.schema import ON_REQUEST, TABLES

logging.getLogger("scapy").setLevel(logging.CRITICAL)
from scapy.layers.inet import IP, TCP  # noqa: E402 -- after its log is quiet
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.l2 import Dot3, Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402
from scapy.utils import PcapReader, rdpcap  # noqa: E402

#: Ethernet and Linux cooked, pcap and pcapng, microseconds and nanoseconds.
SAMPLES = ["lan_hdrsep_small.pcap", "fmt_any_sll2.pcap", "fmt_pcapng.pcapng", "objects_nginx_curl.pcap"]


def tables(source):
    analysis = tcptrace_http.analyze(source, tables=ON_REQUEST)
    return {name: analysis.table(name) for name in TABLES}


def assert_same_tables(source, path):
    given, read = tables(source), tables(path)
    assert [name for name in TABLES if not given[name].equals(read[name])] == []
    assert given["packets"].height > 0


@pytest.mark.parametrize("name", SAMPLES)
def test_packets_of_scapy_give_the_tables_of_their_file(sample_traces, name):
    assert_same_tables(rdpcap(str(sample_traces / name)), sample_traces / name)


#: dpkt returns the nanoseconds of pcapng as a float, which cannot hold them.
NANOSECONDS = "fmt_pcapng.pcapng"


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != NANOSECONDS])
def test_a_reader_of_dpkt_gives_the_tables_of_its_file(sample_traces, name):
    with (sample_traces / name).open("rb") as file:
        assert_same_tables(dpkt.pcap.UniversalReader(file), sample_traces / name)


def test_a_reader_of_dpkt_gives_nanoseconds_to_the_microsecond(sample_traces):
    with (sample_traces / NANOSECONDS).open("rb") as file:
        given = tables(dpkt.pcap.UniversalReader(file))
    read = tables(sample_traces / NANOSECONDS)
    assert given["packets"].drop("time").equals(read["packets"].drop("time"))
    off = (given["packets"]["time"] - read["packets"]["time"]).to_physical().abs()
    assert 0 < off.max() < 1000
    assert given["findings"]["detector"].equals(read["findings"]["detector"])


def test_a_reader_of_scapy_is_read_packet_by_packet(sample_traces):
    with PcapReader(str(sample_traces / SAMPLES[0])) as reader:
        assert_same_tables(reader, sample_traces / SAMPLES[0])


def test_pairs_of_time_and_bytes_give_the_tables_of_their_file():
    assert_same_tables(stalled_exchange(), pcap(stalled_exchange()))
    assert_same_tables(iter(stalled_exchange()), pcap(stalled_exchange()))


@pytest.mark.parametrize("seconds", [float, Decimal])
def test_times_that_are_fractions_are_seconds(seconds):
    pairs = [(seconds(time // 1000) / 1_000_000, frame) for time, frame in clean_exchange()]
    in_microseconds = [(time // 1000 * 1000, frame) for time, frame in clean_exchange()]
    assert_same_tables(pairs, pcap(in_microseconds))


def test_decimal_seconds_are_exact_to_the_nanosecond():
    (_, frame), *_ = clean_exchange()
    analysis = tcptrace_http.analyze([(Decimal("1700000000.123456789"), frame)])
    assert analysis.capture.first_time_ns == 1_700_000_000_123_456_789


def test_a_modified_scapy_packet_is_analyzed_with_its_modification(sample_traces):
    packets = rdpcap(str(sample_traces / SAMPLES[0]))
    for packet in packets:
        for port in ("sport", "dport"):
            if getattr(packet[TCP], port) == 8080:
                setattr(packet[TCP], port, 80)
    assert tcptrace_http.analyze(packets).flows["server_port"].to_list() == [80]


def test_a_packet_of_scapy_keeps_its_length_on_the_wire(tmp_path):
    file = io.BytesIO()
    records = [(time, frame[:60], len(frame)) for time, frame in clean_exchange()]
    tcptrace_http.write_pcap(file, records)
    path = tmp_path / "cut.pcap"
    path.write_bytes(file.getvalue())
    assert_same_tables(rdpcap(str(path)), path)
    assert tables(path)["packets"]["wire_bytes"].max() > 60


def test_no_packets_are_an_empty_capture():
    assert tcptrace_http.analyze([]).capture.packets == 0


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (7, "int is no capture; give a path, bytes, or packets"),
        ([b"frame"], "item 1 is no (time, bytes) and no packet of scapy, but bytes"),
        ([(START, b""), ("noon", b"")], "item 2 has the time 'noon'"),
        ([(START, "text")], "item 1 is no (time, bytes)"),
        ([Ether() / IP() / TCP(), (START, b"")], "item 2 is tuple, and no packet of scapy"),
        ([Ether() / IP(), IP() / TCP()], "item 2 has link type"),
        ([Raw(b"x")], "scapy has no link type for Raw: begin packets with Ether()"),
    ],
)
def test_an_invalid_packet_is_named_with_its_place(given, complaint):
    with pytest.raises(CaptureError) as raised:
        tcptrace_http.analyze(given)
    assert complaint in str(raised.value)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_frame_is_given_back_as_scapy_reads_it(sample_traces, name):
    analysis = tcptrace_http.analyze(sample_traces / name)
    for number, expected in list(enumerate(rdpcap(str(sample_traces / name)), 1))[:20]:
        packet = analysis.packet(number).scapy()
        assert (type(packet), bytes(packet)) == (type(expected), bytes(expected))
        assert (packet.time, packet.wirelen) == (expected.time, expected.wirelen)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_frame_is_given_back_as_dpkt_reads_it(sample_traces, name):
    analysis = tcptrace_http.analyze(sample_traces / name)
    row = analysis.packets.row(3, named=True)
    packet = analysis.packet(4).dpkt()
    assert packet.data.data.sport == row["source_port"]
    assert bytes(packet) == analysis.packet(4).data


def test_a_frame_of_packets_in_memory_is_given_back():
    records = stalled_exchange()
    frame = tcptrace_http.analyze(records).packet(2)
    assert (frame.frame, frame.time_ns, frame.data) == (2, *records[1])
    assert bytes(frame) == frame.data
    assert frame.wire_bytes == len(frame.data)


def test_a_frame_that_is_not_there_is_reported(stalled_capture):
    for number in (0, 10_000):
        with pytest.raises(UnknownName, match=f"there is no frame {number}"):
            stalled_capture.packet(number)


def test_a_link_type_that_dpkt_cannot_read_is_reported():
    analysis = tcptrace_http.analyze(pcap([(START, bytes(40))], link_type=LINUX_COOKED))
    assert analysis.packet(1).dpkt().__class__.__name__ == "SLL"
    radio = tcptrace_http.captured_frame.CapturedFrame(1, START, 127, 4, b"abcd")
    with pytest.raises(UnknownName, match=r"dpkt has no reader for link type 127; use \.data"):
        radio.dpkt()


def test_a_library_that_is_missing_is_named_with_its_extra(stalled_capture, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scapy.layers.all", None)
    monkeypatch.setitem(__import__("sys").modules, "dpkt.ethernet", None)
    frame = stalled_capture.packet(1)
    with pytest.raises(MissingExtra, match=r"need scapy: .*tcptrace-http\[scapy\]"):
        frame.scapy()
    with pytest.raises(MissingExtra, match=r"need dpkt: .*tcptrace-http\[dpkt\]"):
        frame.dpkt()


def test_raw_packets_of_both_ip_versions_are_one_capture():
    analysis = tcptrace_http.analyze([IP() / TCP(), IPv6() / TCP()], tables={"packets"})
    assert analysis.packets["source_port"].to_list() == [20, 20]
    assert [type(analysis.packet(number).dpkt()).__name__ for number in (1, 2)] == ["IP", "IP6"]
    assert [type(analysis.packet(number).scapy()).__name__ for number in (1, 2)] == ["IP", "IPv6"]


def test_packets_of_802_3_are_of_ethernet():
    assert tcptrace_http.analyze([Dot3() / Raw(bytes(60))]).capture.link_types == ("ETHERNET",)


@pytest.fixture
def stalled_capture():
    return tcptrace_http.analyze(pcap(stalled_exchange()))
