"""TLS records against tshark: lengths, frames, types, handshake messages, and decrypted content."""

from __future__ import annotations

import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Final

import polars as pl

import tcptrace_http
from tcptrace_http.schema import TLS_CONTENT_TYPES

if TYPE_CHECKING:
    from .recorded_tls import Recorded

_FIRST_TYPE: Final = 20
_FIELDS: Final = (
    "frame.number",
    "tls.record.length",
    "tls.record.content_type",
    "tls.record.opaque_type",
    "tls.handshake.type",
)
#: RFC 8446, section 4.
_MESSAGES: Final = {
    "client_hello": 1,
    "server_hello": 2,
    "new_session_ticket": 4,
    "certificate": 11,
    "server_key_exchange": 12,
    "server_hello_done": 14,
    "client_key_exchange": 16,
}


def of_tshark(recorded: Recorded, *options: str) -> list[dict[str, list[int]]]:
    """Return each field's values by packet, for packets that complete records."""
    fields = [word for field in _FIELDS for word in ("-e", field)]
    # Cleartext application data after the handshake is irrelevant here.
    command = ["tshark", "-n", "-r", str(recorded.capture), "-d", f"tcp.port=={recorded.port},tls", *options]
    command += ["-Y", "tls.record.length", "-T", "fields", *fields]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [
        {
            name: [int(value) for value in values.split(",") if value]
            for name, values in zip(_FIELDS, row, strict=True)
        }
        for row in (line.split("\t") for line in said.splitlines())
    ]


def types(rows: pl.DataFrame, column: str) -> Counter[int]:
    return Counter(_FIRST_TYPE + TLS_CONTENT_TYPES.index(word) for word in rows[column].drop_nulls())


def test_records_are_those_that_tshark_lists(recorded: Recorded) -> None:
    theirs = of_tshark(recorded)
    ours = tcptrace_http.analyze(recorded.capture, tables=["tls_records"]).tls_records
    assert ours["complete"].all()
    lengths = ours.select("last_frame", pl.col("length").cast(pl.Int64)).rows()
    assert lengths == [(row["frame.number"][0], length) for row in theirs for length in row["tls.record.length"]]
    fields = ("tls.record.content_type", "tls.record.opaque_type")
    assert types(ours, "content_type") == Counter(
        value for row in theirs for name in fields for value in row[name]
    )
    assert ours["decrypted_type"].null_count() == ours.height
    said = ours["handshake_messages"].drop_nulls().str.split(",").explode()
    messages = Counter(_MESSAGES[name] for name in said)
    assert messages == Counter(value for row in theirs for value in row["tls.handshake.type"])


def test_keys_show_the_records_types(recorded: Recorded) -> None:
    theirs = of_tshark(recorded, "-o", f"tls.keylog_file:{recorded.keys}")
    analysis = tcptrace_http.analyze(recorded.capture, keylog=recorded.keys)
    # Not requested before: the capture is read again, with the same keys.
    ours = analysis.tls_records.with_columns(
        shown=pl.coalesce(pl.col("decrypted_type", "content_type").cast(pl.String))
    )
    assert types(ours, "shown") == Counter(value for row in theirs for value in row["tls.record.content_type"])
    opaque = ours.filter(pl.col("content_type") == "application_data")
    assert opaque["decrypted_type"].null_count() == 0


def test_a_record_over_several_segments_has_the_frames_of_its_ends(recorded: Recorded) -> None:
    analysis = tcptrace_http.analyze(recorded.capture, tables=["tls_records", "segments"])
    responses = analysis.tls_records.filter(direction="server_to_client")
    assert (responses["last_frame"] > responses["first_frame"]).any()
    segments = analysis.segments.select("frame", "flow", "seq", "payload_bytes", segment_direction="direction")
    joined = responses.join(segments, left_on="first_frame", right_on="frame", how="left")
    # The first byte has the sequence number 1.
    begins = pl.col("offset").cast(pl.Int64) + 1 - pl.col("seq").cast(pl.Int64)
    assert joined.select(begins.is_between(0, pl.col("payload_bytes").cast(pl.Int64) - 1).all()).item()


def test_a_lazy_scan_gives_the_columns_that_are_asked_for(recorded: Recorded) -> None:
    eager = tcptrace_http.analyze(recorded.capture).tls_records
    lazy = tcptrace_http.scan(recorded.capture, "tls_records").select("length", "last_frame").collect()
    assert lazy.equals(eager.select("length", "last_frame"))
