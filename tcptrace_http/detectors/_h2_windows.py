"""Messages that waited for an HTTP/2 flow-control window, with the windows of their receiver."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._limited import limited

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

__all__ = ["LOST_MIN", "NEEDS", "waited_for_window"]

NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")
#: Minimum loss: a shorter round trip is one inside a site, as for slow start. The frames show the window, so
#: a single wait is no chance.
LOST_MIN: Final = timedelta(milliseconds=4)
_WAITS_MIN: Final = 1
#: Default window (RFC 9113, section 6.9.2).
_INITIAL_WINDOW: Final = 65_535


def waited_for_window(
    tables: Mapping[str, pl.DataFrame], causes: Sequence[str], *, room: pl.Expr, lost_min: timedelta
) -> pl.LazyFrame:
    """Return one row per message that waited for ``causes``, with the columns of ``limited``.

    ``stream_window`` and ``connection_window`` are the receiver's windows at the start of the connection.
    """
    import polars as pl

    windows = ("initial_window", "connection_window")
    given = (
        tables["h2_connections"]
        .lazy()
        .select("flow", *(f"{who}_{window}" for who in ("client", "server") for window in windows))
    )
    is_server = pl.col("receiver") == "server"
    stream, connection = (
        pl.when(is_server).then(f"server_{window}").otherwise(f"client_{window}").fill_null(_INITIAL_WINDOW)
        for window in windows
    )
    streams = tables["transactions"].lazy().select("flow", "stream", transaction="index")
    return (
        limited(tables, causes, room=room, lost_min=lost_min, waits_min=_WAITS_MIN)
        .join(given, on="flow", how="left", maintain_order="left")
        .join(streams, on=["flow", "transaction"], how="left", maintain_order="left")
        .with_columns(stream_window=stream, connection_window=connection)
    )
