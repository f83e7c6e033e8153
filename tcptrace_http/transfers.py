"""Files by FTP: which data connections belong to a control connection, and what each carried.

FTP opens a data connection per file beside its control connection (RFC 959, section 3.2): from the server to a
port that the client named (active), or from the client to a port that the server named (passive). FTP has no
transactions: files are told by their flows alone, without their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

__all__ = ["find_transfers"]

#: RFC 959, section 8: the port of the control connection.
_CONTROL: Final = 21
_COLUMNS: Final = ("flow", "client", "server", "client_port", "server_port", "start", "end", "close_time")


def find_transfers(flows: pl.DataFrame) -> pl.DataFrame:
    """One row per file: its flow and that of its control connection, who sent it, its bytes and its time.

    ``elapsed`` is from the first packet of the data connection to its first FIN, which ends the file.
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
        # In active mode the server of files is the client of TCP.
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
    """The latest control connection of the same two hosts that was open when the data connection began."""
    hosts = {row["client"], row["server"]}
    open_then = (
        control
        for control in controls
        if {control["client"], control["server"]} == hosts and control["start"] <= row["start"] <= control["end"]
    )
    return max(open_then, key=lambda control: control["start"], default=None)
