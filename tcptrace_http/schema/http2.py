"""HTTP/2 connections and their flow-control windows."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_H2_CONNECTIONS: Final = Table(
    "h2_connections",
    "One row per flow that carries HTTP/2. Frames are those of both directions.",
    columns(
        ("flow", "u32", "Flow number"),
        ("is_upgrade", "bool", "It began as HTTP/1.1 (Upgrade: h2c)"),
        ("preface_time", "time?", "Time of the first byte of the client's connection preface (RFC 9113, 3.4)"),
        ("client_settings_frame", "u64?", "Frame of the client's first SETTINGS"),
        ("client_settings_time", "time?", "Time of it"),
        ("client_settings_acked_time", "time?", "When the server acknowledged it"),
        ("server_settings_frame", "u64?", "Frame of the server's first SETTINGS"),
        ("server_settings_time", "time?", "Time of it"),
        ("server_settings_acked_time", "time?", "When the client acknowledged it"),
        ("client_initial_window", "u32?", "Window of a stream that the client gives: it bounds responses"),
        ("server_initial_window", "u32?", "Window of a stream that the server gives: it bounds requests"),
        ("client_connection_window", "u64?", "Window of the connection that the client gave before any DATA came"),
        ("server_connection_window", "u64?", "Window of the connection that the server gave before any DATA came"),
        ("client_max_frame", "u32?", "SETTINGS_MAX_FRAME_SIZE of the client"),
        ("server_max_frame", "u32?", "SETTINGS_MAX_FRAME_SIZE of the server"),
        ("max_concurrent_streams", "u32?", "SETTINGS_MAX_CONCURRENT_STREAMS of the server"),
        ("streams", "u32", "Streams on it"),
        ("data_frames", "u64", "DATA frames"),
        ("headers_frames", "u64", "HEADERS frames"),
        ("priority_frames", "u64", "PRIORITY frames"),
        ("rst_stream_frames", "u64", "RST_STREAM frames"),
        ("settings_frames", "u64", "SETTINGS frames, acknowledgments included"),
        ("push_promise_frames", "u64", "PUSH_PROMISE frames"),
        ("ping_frames", "u64", "PING frames, acknowledgments included"),
        ("goaway_frames", "u64", "GOAWAY frames"),
        ("window_update_frames", "u64", "WINDOW_UPDATE frames"),
        ("continuation_frames", "u64", "CONTINUATION frames"),
        ("priority_update_frames", "u64", "PRIORITY_UPDATE frames (RFC 9218, section 7.1)"),
        ("other_frames", "u64", "Frames of other types"),
        ("goaway_frame", "u64?", "Frame of the first GOAWAY"),
        ("goaway_time", "time?", "Time of it"),
        ("goaway_by", "enum:DIRECTIONS?", "Who sent it"),
        ("goaway_code", "u32?", "Its error code (RFC 9113, section 7)"),
        ("last_stream", "u32?", "The last stream that its sender took on"),
        ("unknown_fields", "u64", "Header fields that refer to blocks which were not captured"),
    ),
)

_H2_WINDOWS: Final = Table(
    "h2_windows",
    "One row per event of HTTP/2 flow control, in the order of the capture: what was used of the windows, and what"
    " was given. Windows are those that the capture's point knows; its sender learns of them later.",
    columns(
        ("flow", "u32", "Flow number"),
        ("direction", "enum:DIRECTIONS", "Direction of the DATA that the windows bound"),
        ("stream", "u32", "Number of the stream; 0 for the connection, or for a change of all streams"),
        ("frame", "u64", "Frame that completed it"),
        ("time", "time", "Time of that"),
        ("event", "enum:H2_WINDOW_EVENTS", "What it was"),
        ("bytes", "i64", "By how much the windows changed; negative for DATA, its padding included"),
        ("stream_window", "i64?", "Window of the stream behind it; null for the connection's events"),
        ("connection_window", "i64?", "Window of the connection behind it; null if it is not known"),
    ),
    on_request=True,
)

TABLES: Final = (_H2_CONNECTIONS, _H2_WINDOWS)
