"""What the detectors of the capture itself share: the rows of ``flaws``, one for all flows of a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TCPDUMP", "capture_finding", "grouped", "tcp_ports"]

#: How to capture again; the filter follows. ``-B`` is the kernel's buffer in KiB: 64 MiB last for half a
#: second of a full gigabit link.
TCPDUMP: Final = "tcpdump -i INTERFACE -s 0 -B 65536 -w again.pcap"
#: More ports than these make no filter that anyone reads.
_PORTS_MAX: Final = 4
_KEY: Final = ("flaw", "has_messages", "server_port", "direction")


def grouped(flaws: pl.DataFrame) -> pl.DataFrame:
    """The flaws with one row for all flows that differ in number only: ``flows``, the first ``flow``, first
    and last ``frame``, the sums of ``count`` and ``bytes``, and ``bytes_max``.

    Groups of parts of a capture, one after the other, may be grouped again: that gives those of the whole.
    """
    import polars as pl

    single = {"flows": pl.lit(1, pl.UInt32), "last_frame": pl.col("frame"), "bytes_max": pl.col("bytes")}
    missing = [made.alias(name) for name, made in single.items() if name not in flaws.columns]
    return (
        flaws.with_columns(missing)
        .group_by(_KEY)
        .agg(
            pl.col("flows").sum(),
            pl.col("flow").min(),
            pl.col("frame").min(),
            pl.col("last_frame").max(),
            pl.col("count", "bytes").sum(),
            pl.col("bytes_max").max(),
        )
        .sort(_KEY)
    )


def capture_finding(flaws: pl.DataFrame, flaw: str) -> pl.LazyFrame:
    """One row for all flows that have the flaw, none where there is no such flow.

    The columns are those of a finding but the texts, and of :func:`grouped`: ``of_flows`` says how
    many flows, of ``flows`` in all ``http_flows`` are; ``filter`` is what tcpdump needs to see them again.
    """
    import polars as pl

    one = pl.col("flows").sum() == 1
    return (
        grouped(flaws)
        .lazy()
        .filter(pl.col("flaw") == flaw)
        .select(
            pl.when(one).then(pl.col("flow").min()).alias("flow"),
            pl.lit(None, pl.UInt32).alias("transaction"),
            pl.col("frame").min().alias("first_frame"),
            pl.col("last_frame").max(),
            pl.lit(None, pl.Datetime("ns", "UTC")).alias("start"),
            pl.lit(0, pl.Duration("ns")).alias("lost"),
            pl.lit(1.0).alias("confidence"),
            pl.lit(None, pl.String).alias("cause"),
            pl.col("flows").sum(),
            pl.when(one)
            .then(pl.lit("1 flow"))
            .otherwise(pl.format("{} flows", pl.col("flows").sum()))
            .alias("of_flows"),
            pl.col("flows").filter("has_messages").sum().alias("http_flows"),
            pl.col("flows").filter(direction="client_to_server").sum().alias("flows_of_client"),
            pl.col("flow").min().alias("flow_min"),
            pl.col("count", "bytes").sum(),
            pl.col("bytes_max").max(),
            tcp_ports(pl.col("server_port")).alias("filter"),
        )
        .filter(pl.col("flows") > 0)
    )


def tcp_ports(ports: pl.Expr) -> pl.Expr:
    """The filter of tcpdump for all of these ports, or for TCP where they are many."""
    import polars as pl

    each = ports.unique().sort()
    named = pl.concat_str(pl.lit("'tcp port "), each.cast(pl.String).str.join(" or tcp port "), pl.lit("'"))
    return pl.when(each.len() <= _PORTS_MAX).then(named).otherwise(pl.lit("tcp"))
