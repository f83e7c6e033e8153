"""FTP transfers: the control connection of each data connection, and the bytes of each transfer.

FTP opens one data connection per file beside its control connection (RFC 959, section 3.2). In active mode
the server connects to the client's port, in passive mode the client connects to the server's port. FTP has no
transactions, so the flows describe the files, without names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

__all__ = ["find_transfers"]

#: Port of the control connection (RFC 959, section 8).
_CONTROL: Final = 21
_COLUMNS: Final = ("flow", "client", "server", "client_port", "server_port", "start", "end", "close_time")


def find_transfers(flows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per file: its flow, the control connection's flow, the sender, the bytes and the time.

    ``elapsed`` is the time from the first packet of the data connection to its first FIN, which ends the
    file.
    """
    import polars as pl

    schema = {
        "control_flow": pl.UInt32(),
        "flow": pl.UInt32(),
        "client": pl.String(),
        "server": pl.String(),
        "mode": pl.Enum(("active", "passive")),
        "to_client": pl.Boolean(),
        "bytes": pl.UInt64(),
        "start": flows.schema["start"],
        "end": flows.schema["end"],
    }
    rows = flows.filter(pl.col("protocol").is_null()).select(*_COLUMNS, "client_bytes", "server_bytes")
    controls = rows.filter(pl.col("server_port") == _CONTROL).to_dicts()
    data = rows.filter(pl.col("server_port") != _CONTROL).to_dicts() if controls else []
    found = pl.DataFrame(list(_transfers(controls, data)), schema=schema)
    return found.with_columns(elapsed=pl.col("end") - pl.col("start"))


def _transfers(controls: list[dict[str, Any]], data: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in data:
        control = _control_of(row, controls)
        if control is None:
            continue
        is_active = row["client"] == control["server"]
        # In active mode the file server is the TCP client.
        to_client, to_server = ("client_bytes", "server_bytes") if is_active else ("server_bytes", "client_bytes")
        carried = max(row[to_client], row[to_server])
        if carried == 0:
            continue
        yield {
            "control_flow": control["flow"],
            "flow": row["flow"],
            "client": control["client"],
            "server": control["server"],
            "mode": "active" if is_active else "passive",
            "to_client": row[to_client] >= row[to_server],
            "bytes": carried,
            "start": row["start"],
            "end": row["close_time"] or row["end"],
        }


def _control_of(row: dict[str, Any], controls: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the latest control connection of the two hosts that was open at the start of the data connection."""
    hosts = {row["client"], row["server"]}
    open_then = (
        control
        for control in controls
        if {control["client"], control["server"]} == hosts and control["start"] <= row["start"] <= control["end"]
    )
    return max(open_then, key=lambda control: control["start"], default=None)
