"""TLS handshakes and records."""

from __future__ import annotations

from typing import Final

from tcptrace_http.schema.columns import Table, columns

__all__ = ["TABLES"]

_TLS_HANDSHAKES: Final = Table(
    "tls_handshakes",
    "One row per flow with a captured TLS handshake. Bytes are those on the wire, including record headers."
    " Order, direction and size of records identify encrypted messages.",
    columns(
        ("flow", "u32", "Flow number"),
        ("server_name", "str?", "Host name requested by the client (SNI; RFC 6066, section 3)"),
        ("alpn_offered", "str?", "Protocols that the client offered, with a comma between (RFC 7301)"),
        ("alpn_chosen", "str?", "The one that the server chose; TLS 1.3 encrypts it"),
        ("version", "enum:TLS_VERSIONS?", "Version that the server chose"),
        ("cipher", "str?", "Cipher suite that the server chose: IANA's name, or its number"),
        ("resumed", "bool?", "The session of an earlier connection was resumed: no certificate was sent"),
        ("early_data", "bool", "The client offered early data (RFC 8446, section 2.3)"),
        (
            "hello_retry",
            "bool",
            "The server asked for another ClientHello (HelloRetryRequest), which costs a round trip",
        ),
        ("client_hello_bytes", "u64", "ClientHello; both of them after a HelloRetryRequest"),
        ("server_flight_bytes", "u64", "The server's first flight, up to the message that needs an answer"),
        ("certificate_bytes", "u64?", "Certificate chain of the server; TLS 1.3 encrypts it"),
        ("client_flight_bytes", "u64", "The client's bytes behind its ClientHello, up to Finished"),
        ("client_hello_frame", "u64?", "Frame of the ClientHello's first byte"),
        ("client_hello_time", "time?", "Time of that byte"),
        ("client_hello_last_frame", "u64?", "Frame that completed the first ClientHello"),
        ("client_hello_last_time", "time?", "Time of that frame"),
        ("server_hello_frame", "u64?", "Frame of the first byte of the server's answer"),
        ("server_hello_time", "time?", "Time of that byte"),
        ("server_flight_last_frame", "u64?", "Frame that completed the server's first flight"),
        ("server_flight_last_time", "time?", "Time of that frame"),
        ("client_finished_frame", "u64?", "Frame that completed the client's Finished"),
        ("client_finished_time", "time?", "Time of that frame"),
        (
            "done_time",
            "time?",
            "The client may send application data: after its Finished, and before TLS 1.3 also after the server's",
        ),
        ("first_application_frame", "u64?", "Frame of the first byte of the client's application data"),
        ("first_application_time", "time?", "Time of that byte"),
        (
            "unasked_bytes",
            "u64",
            (
                "Unrequested bytes of the server before its first response: session tickets (RFC 8446, section"
                " 4.6.1), SETTINGS of HTTP/2"
            ),
        ),
        ("unasked_first_frame", "u64?", "Frame of the first of these bytes"),
        ("unasked_last_frame", "u64?", "Frame of the last of these bytes"),
        ("round_trips", "u32", "Server answers that the client waited for before application data"),
        ("alert", "u8?", "Description of a fatal alert in clear (RFC 8446, section 6.2)"),
    ),
)

_TLS_RECORDS: Final = Table(
    "tls_records",
    "One row per TLS record, in the order of their completion.",
    columns(
        ("flow", "u32", "Flow number"),
        ("direction", "enum:DIRECTIONS", "Sender of the record"),
        (
            "content_type",
            "enum:TLS_CONTENT_TYPES",
            "Type in its header: application_data for every record that TLS 1.3 encrypts",
        ),
        ("length", "u16", "Bytes behind its header of five bytes"),
        ("offset", "u64", "Offset of its header in the sender's payload, from 0"),
        ("first_frame", "u64", "Frame of its first byte"),
        ("first_time", "time", "Time of that frame"),
        ("last_frame", "u64", "Frame that completed it"),
        ("last_time", "time", "Time of that frame"),
        ("handshake_messages", "str?", "Handshake messages in clear that end in it, separated by commas"),
        ("decrypted_type", "enum:TLS_CONTENT_TYPES?", "Inner type, decrypted with a key of the key log"),
        ("complete", "bool", "All bytes of the record were captured"),
    ),
    on_request=True,
)

TABLES: Final = (_TLS_HANDSHAKES, _TLS_RECORDS)
