"""Packet fields that the model reads."""

from __future__ import annotations

from typing import Any, Final

PACKET_COLUMNS: Final = (
    "frame time source destination identification source_port destination_port seq_raw ack_raw flags window_raw"
    " urgent_pointer mss_option window_scale_option sack_permitted sack_edges_raw timestamp_value payload_bytes"
    " payload_captured_bytes"
).split()

FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32


def microseconds(packet: dict[str, Any]) -> int:
    return int(packet["time"]) // 1000


def source(packet: dict[str, Any]) -> tuple[str, int]:
    return packet["source"], packet["source_port"]


def destination(packet: dict[str, Any]) -> tuple[str, int]:
    return packet["destination"], packet["destination_port"]
