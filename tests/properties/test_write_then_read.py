"""Written frames: every field is read back, and the payload is at the packets table's offset."""

import io

import pytest
from captures import pcapng
from hypothesis import given
from hypothesis import strategies as st
from properties.flows import FIRST, flows, render
from properties.tables import rows, scapy_reads, written

import tcptrace_http
from tcptrace_http.trace import write_pcap

PLACED = ("network_offset", "payload_offset")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


def pcap_of(records):
    file = io.BytesIO()
    write_pcap(file, records)
    return file.getvalue()


@given(steps=flows(), start=st.integers(0, 2**31 * 10**9))
def test_messages_of_a_flow_are_in_the_packets_read(folder, steps, start):
    records = render(steps, start=start)
    path = written(folder / "flow.pcap", pcap_of(records))
    packets = tcptrace_http.read(path).packets
    found = packets.with_columns(packets["time"].to_physical()).iter_rows(named=True)
    for row, step, (time, frame) in zip(found, steps, records, strict=True):
        assert (row["time"], row["captured_bytes"], row["wire_bytes"]) == (time, len(frame), len(frame))
        own = FIRST.client_initial if step.from_client else FIRST.server_initial
        assert (row["seq_raw"], row["flags"]) == ((own + step.seq) % 2**32, step.flags)
        payload = frame[row["payload_offset"] :][: row["payload_captured_bytes"]]
        assert (payload, row["payload_bytes"]) == (step.payload, len(step.payload))


@given(steps=flows())
def test_pcap_and_pcapng_say_the_same(folder, steps):
    records = render(steps)
    by_format = [
        tcptrace_http.analyze(written(folder / name, content), tables=["packets"])
        for name, content in (("a.pcap", pcap_of(records)), ("a.pcapng", pcapng(records)))
    ]
    assert rows(by_format[0], "packets") == rows(by_format[1], "packets")


@given(
    records=st.lists(
        st.tuples(st.integers(0, (2**32 - 1) * 10**9), st.binary(min_size=1, max_size=200)), max_size=8
    )
)
def test_any_records_are_read_back_as_they_were_written(records):
    content = pcap_of(records)
    assert scapy_reads(content) == records
