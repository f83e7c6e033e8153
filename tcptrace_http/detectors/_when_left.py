"""When the data left that waited: near its sender a wait ends only when the ACK of that data comes by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["when_left"]

_RELEASED: Final = ("flow", "transaction", "released_frame")


def when_left(waits: pl.LazyFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """``waits`` with ``left``, when what ended each of them left its sender (near the client: when it came), and
    ``ack_frame``, the ACK that had let it go, which is not known behind data that was sent again.

    Near the server waits tell when the client had each segment, as its ACKs show. A finding is about the sender:
    it has the place of the hold.
    """
    import polars as pl

    flows = tables["flows"].lazy().select("flow", _way=pl.col("client_path_rtt").fill_null(pl.duration()))
    pauses = tables["pauses"].lazy().select(*_RELEASED, "ack_frame", _released="released_time")
    return (
        waits.with_columns(released_frame="last_frame")
        .join(pauses, on=list(_RELEASED), how="left", maintain_order="left")
        .join(flows, on="flow", how="left", maintain_order="left")
        .with_columns(left=pl.coalesce("_released", pl.col("end") - pl.col("_way")))
        .drop("_released", "_way", "released_frame")
    )
