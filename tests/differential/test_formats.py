"""Formats written by editcap: read, or rejected with the command that converts them."""

from __future__ import annotations

import subprocess

import pytest
from captures import clean_exchange, pcap

import tcptrace_http

#: Format names as ``editcap -F`` lists them.
READ = ("pcap", "pcapng", "nsecpcap", "modpcap", "nokiapcap", "rh6_1pcap", "suse6_3pcap")
CONVERTED = (
    "5views", "commview-ncf", "k12text", "netmon1", "netmon2", "ngsniffer", "ngwsniffer_1_1", "ngwsniffer_2_0",
    "snoop", "visual",
)  # fmt: skip
#: Most formats have coarse times, so the exchange uses whole milliseconds.
RECORDS = [(time // 1_000_000 * 1_000_000, frame) for time, frame in clean_exchange(3)]


@pytest.fixture
def written(tmp_path):
    def write(name: str):
        original, path = tmp_path / "original.pcap", tmp_path / "capture"
        original.write_bytes(pcap(RECORDS))
        subprocess.run(["editcap", "-F", name, original, path], check=True)
        return path

    return write


def requests(path) -> list[tuple[object, ...]]:
    transactions = tcptrace_http.analyze(path).transactions
    return transactions.select("request_frame", "target", "status", "response_last_frame").rows()


@pytest.mark.parametrize("name", READ)
def test_variants_of_pcap_are_read(written, name):
    assert requests(written(name)) == requests(pcap(RECORDS))


@pytest.mark.parametrize("name", CONVERTED)
def test_another_format_is_read_once_the_command_of_the_error_was_run(written, name):
    path = written(name)
    with pytest.raises(tcptrace_http.UnknownFormat) as raised:
        tcptrace_http.analyze(path)
    command = raised.value.what.partition("convert it: ")[2]
    assert command.startswith("editcap ")
    subprocess.run(command, shell=True, check=True)
    assert requests(f"{path}.pcapng") == requests(pcap(RECORDS))
