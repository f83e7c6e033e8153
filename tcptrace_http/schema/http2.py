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
        ("is_upgrade", "bool", "The connection began as HTTP/1.1 (Upgrade: h2c)"),
        ("preface_time", "time?", "Time of the first byte of the client's connection preface (RFC 9113, 3.4)"),
        ("client_settings_frame", "u64?", "Frame of the client's first SETTINGS"),
        ("client_settings_time", "time?", "Time of that frame"),
        ("client_settings_acked_time", "time?", "Time of the server's acknowledgment"),
        ("server_settings_frame", "u64?", "Frame of the server's first SETTINGS"),
        ("server_settings_time", "time?", "Time of that frame"),
        ("server_settings_acked_time", "time?", "Time of the client's acknowledgment"),
        ("client_initial_window", "u32?", "The client's stream window, which bounds responses"),
        ("server_initial_window", "u32?", "The server's stream window, which bounds requests"),
        ("client_connection_window", "u64?", "The client's connection window before any DATA"),
        ("server_connection_window", "u64?", "The server's connection window before any DATA"),
        ("client_max_frame", "u32?", "SETTINGS_MAX_FRAME_SIZE of the client"),
        ("server_max_frame", "u32?", "SETTINGS_MAX_FRAME_SIZE of the server"),
        ("max_concurrent_streams", "u32?", "SETTINGS_MAX_CONCURRENT_STREAMS of the server"),
        ("streams", "u32", "Streams on the connection"),
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
        ("goaway_time", "time?", "Time of that frame"),
        ("goaway_by", "enum:DIRECTIONS?", "Sender of that GOAWAY"),
        ("goaway_code", "u32?", "Its error code (RFC 9113, section 7)"),
        ("last_stream", "u32?", "The last stream that its sender accepted"),
        ("unknown_fields", "u64", "Header fields that refer to uncaptured blocks"),
    ),
)

_H2_WINDOWS: Final = Table(
    "h2_windows",
    "One row per event of HTTP/2 flow control, in capture order: use and updates of the windows. Windows are"
    " those at the capture point; the sender learns of them later.",
    columns(
        ("flow", "u32", "Flow number"),
        ("direction", "enum:DIRECTIONS", "Direction of the DATA that the windows bound"),
        ("stream", "u32", "Number of the stream; 0 for the connection, or for a change of all streams"),
        ("frame", "u64", "Frame that completed it"),
        ("time", "time", "Time of that"),
        ("event", "enum:H2_WINDOW_EVENTS", "Kind of the event"),
        ("bytes", "i64", "Change of the windows; negative for DATA, including its padding"),
        ("stream_window", "i64?", "Stream window after the event; null for events of the connection"),
        ("connection_window", "i64?", "Connection window after the event; null if unknown"),
    ),
    on_request=True,
)

TABLES: Final = (_H2_CONNECTIONS, _H2_WINDOWS)
