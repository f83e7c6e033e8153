"""Packet scripts: dpkt, tshark and the analysis read the same packets."""

from __future__ import annotations

import io
import subprocess
from typing import TYPE_CHECKING

import dpkt
import pytest

import tcptrace_http

from . import packet_script

if TYPE_CHECKING:
    from pathlib import Path

OPENED = """
+0.000000 C > S S 0:0(0) win 64240 <mss 1460, sackOK, wscale 7>
+0.000400 S > C S 0:0(0) ack 1 win 65160 <mss 1460, sackOK, wscale 7>
+0.000430 C > S . ack 1 win 502
"""


def segments(script: str) -> list[dpkt.tcp.TCP]:
    reader = dpkt.pcap.Reader(io.BytesIO(packet_script.pcap(script)))
    return [dpkt.ethernet.Ethernet(frame).data.data for _, frame in reader]


def payloads(script: str) -> list[bytes]:
    return [bytes(segment.data) for segment in segments(script)]


def transactions(script: str, folder: Path) -> list[dict[str, object]]:
    capture = folder / "script.pcap"
    capture.write_bytes(packet_script.pcap(script))
    return tcptrace_http.analyze(capture).transactions.to_dicts()


def test_tshark_prints_the_scripts_packets(tmp_path: Path) -> None:
    capture = tmp_path / "script.pcap"
    script = (
        OPENED
        + """
+0.001000 C > S P 1:101(100) ack 1 win 502 <ts val 7 ecr 5> id 9 {GET /}
+0.002000 C > S R. 101:101(0) ack 1 win 0 <sack 1461:2921 4381:5841>
"""
    )
    capture.write_bytes(packet_script.pcap(script))
    shown = "flags.str seq ack window_size options.timestamp.tsval options.sack_le".split()
    names = ["ip.id", *(f"tcp.{name}" for name in shown)]
    command = ["tshark", "-r", str(capture), "-T", "fields", *(part for name in names for part in ("-e", name))]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[3].split("\t") == ["0x0009", "·······AP···", "1", "1", "64256", "7", ""]
    assert lines[4].split("\t") == ["0x0000", "·······A·R··", "101", "1", "0", "", "1461,4381"]


def test_tshark_reads_the_frames_of_http2_that_the_script_says(tmp_path: Path) -> None:
    capture = tmp_path / "script.pcap"
    script = (
        OPENED
        + """
+0.001000 C > S P 1:46(45) ack 1 win 502 {h2 PREFACE ; h2 SETTINGS initial_window=2000 max_streams=9}
+0.001100 C > S P 46:346(300) ack 1 win 502 {h2 HEADERS 1 POST /a priority=u=1 bytes=200 ; h2 DATA 1 end}
+0.002000 S > C P 1:74(73) ack 346 win 502 {h2 SETTINGS ack ; h2 HEADERS 1 200 bytes=40 ; h2 DATA 1 15}
+0.003000 C > S P 346:359(13) ack 74 win 502 {h2 WINDOW_UPDATE 1 15}
+0.003100 S > C P 74:123(49) ack 359 win 502 {h2 PING ; h2 HEADERS 1 trailers grpc-status=0 end bytes=32}
+0.003150 S > C P 123:140(17) ack 359 win 502 {h2 GOAWAY 1 0}
+0.003200 C > S P 359:372(13) ack 140 win 502 {h2 RST_STREAM 3 8}
"""
    )
    capture.write_bytes(packet_script.pcap(script))
    names = ("type", "streamid", "headers.method", "headers.path", "headers.status")
    fields = [part for name in names for part in ("-e", f"http2.{name}")]
    command = ["tshark", "-r", str(capture), "-d", "tcp.port==80,http2", "-T", "fields", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split("\t") for line in lines[3:]] == [
        ["4", "0", "", "", ""],
        ["1,0", "1,1", "POST", "/a", ""],
        ["4,1,0", "0,1,1", "", "", "200"],
        ["8", "1", "", "", ""],
        ["6,1", "0,1", "", "", ""],
        ["7", "0", "", "", ""],
        ["3", "3", "", "", ""],
    ]


@pytest.mark.parametrize(
    "said", ["h2 DATA 1 10", "h2 DATA 1 ; h2 DATA 1", "h2 HEADERS 1 GET bytes=40", "h2 HEADERS 1 GET /a bytes=10"]
)
def test_frames_that_do_not_fill_their_segment_or_say_nothing_are_errors(said: str) -> None:
    with pytest.raises(ValueError, match=r"fill|neither|no header block"):
        packet_script.pcap(OPENED + f"+0.001000 C > S P 1:101(100) ack 1 win 502 {{{said}}}")


def test_other_clients_and_servers_are_other_connections(tmp_path: Path) -> None:
    script = "".join(
        OPENED.replace("C >", f"{client} >")
        .replace("> C", f"> {client}")
        .replace("S >", f"{server} >")
        .replace("> S ", f"> {server} ")
        for client, server in (("C", "S"), ("C2", "S"), ("C", "S2"))
    )
    capture = tmp_path / "script.pcap"
    capture.write_bytes(packet_script.pcap(script))
    flows = tcptrace_http.analyze(capture).flows
    assert packet_script.connections(script) == 3
    assert flows.select("client_port", "server").rows() == [
        (40000, "10.0.0.2"),
        (40001, "10.0.0.2"),
        (40000, "10.0.0.3"),
    ]


def test_retransmissions_repeat_their_bytes_and_heads_span_segments() -> None:
    script = """
+0.000000 C > S . 1:1461(1460) ack 1 win 502 {GET /x cookie=2000 head=2100}
+0.000100 C > S P 1461:2101(640) ack 1 win 502
+0.300000 C > S . 1:1461(1460) ack 1 win 502
"""
    first, rest, again = payloads(script)
    assert first == again
    assert (first + rest).endswith(b"\r\n\r\n")
    assert len(first + rest) == 2100


def test_a_segment_captured_in_part_keeps_its_length_on_the_wire() -> None:
    data = packet_script.pcap("+0.000000 S > C P 1:1001(1000) ack 1 win 502 captured 20")
    captured, length = (int.from_bytes(data[at : at + 4], "little") for at in (32, 36))
    assert (captured, length) == (14 + 20 + 20 + 20, 14 + 20 + 20 + 1000)


def test_fin_takes_a_number_and_a_syn_may_carry_data() -> None:
    script = """
+0.000000 C > S S 0:50(50) win 502 {GET /}
+0.000100 C > S F ack 1 win 502
+0.000200 C > S . ack 1 win 502
"""
    initial = packet_script.INITIAL["C"]
    assert [(one.seq - initial) % 2**32 for one in segments(script)] == [0, 51, 52]
    assert payloads(script)[0].startswith(b"GET / ")


def test_messages_follow_each_other_in_one_segment(tmp_path: Path) -> None:
    script = (
        OPENED
        + """
+0.001000 C > S P 1:151(150) ack 1 win 502 {GET /a head=70 ; GET /b head=80 referer=/a expect}
+0.002000 S > C P 1:401(400) ack 151 win 509 {200 head=150 chunked=30,100 type=text/html ; 304 head=98 etag=1}
+0.002100 C > S . ack 401 win 502
"""
    )
    made = transactions(script, tmp_path)
    assert [row["target"] for row in made] == ["/a", "/b"]
    assert [row["status"] for row in made] == [200, 304]
    assert [row["response_body_bytes"] for row in made] == [130, 0]
    assert all(row["complete"] for row in made)


@pytest.mark.parametrize(
    "line",
    [
        "+0.000000 C > C . ack 1 win 502",
        "+0.000000 C > S . 1:10(10) ack 1 win 502",
        "+0.000000 C > S . ack 1 win 502 <tfo>",
        "+0.000000 C > S . ack 1 win 502 {GET /} trailing",
        "+0.000000 C > S . 1:101(100) ack 1 win 502 {GET / colour=red}",
        "+0.000000 C > S . 1:101(100) ack 1 win 502 {GET / shiny}",
        "+0.000000 C > S . 1:101(100) ack 1 win 502 {GET / cookie=100}",
        "+0.000000 S > C . 1:101(100) ack 1 win 502 {200}",
        "+0.000000 S > C . 1:101(100) ack 1 win 502 captured 101",
        "0.000000 S > C . ack 1 win 502",
    ],
)
def test_text_outside_the_grammar_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        packet_script.pcap(line)


def test_tshark_reads_the_handshakes_that_a_script_says(tmp_path: Path) -> None:
    capture = tmp_path / "script.pcap"
    script = (
        OPENED
        + """
+0.001000 C > S P 1:301(300) ack 1 win 502 {client_hello name=example.com}
+0.002000 S > C P 1:62(61) ack 301 win 509 {retry}
+0.003000 C > S P 301:601(300) ack 62 win 502 {client_hello name=example.com}
+0.004000 S > C P 62:1062(1000) ack 601 win 509 {server_flight}
+0.005000 C > S P 601:665(64) ack 1062 win 502 {client_flight}
+0.100000 C2 > S P 1:301(300) ack 1 win 502 {client_hello name=example.com}
+0.101000 S > C2 P 1:1001(1000) ack 301 win 509 {server_flight version=1.2}
"""
    )
    capture.write_bytes(packet_script.pcap(script))
    fields = ["-e", "tls.handshake.type", "-e", "tls.handshake.extensions_server_name", "-e", "tls.record.length"]
    command = ["tshark", "-r", str(capture), "-d", "tcp.port==80,tls", "-T", "fields", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[3:]
    assert [line.split("\t") for line in lines] == [
        ["1", "example.com", "295"],
        ["2", "", "50,1"],
        ["1", "example.com", "295"],
        ["2", "", "50,1,876,53"],
        ["", "", "1,53"],
        ["1", "example.com", "295"],
        ["2,11,14", "", "44,937,4"],
    ]
