"""Common parts of the capture-flaw detectors: the rows of ``flaws``, grouped by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TCPDUMP", "capture_finding", "grouped", "tcp_ports"]

#: Command for a new capture; the filter follows. ``-B`` is the kernel's buffer in KiB: 64 MiB hold half a
#: second of a full gigabit link.
TCPDUMP: Final = "tcpdump -i INTERFACE -s 0 -B 65536 -w again.pcap"
#: Maximum number of ports in a filter. A longer filter is unreadable.
_PORTS_MAX: Final = 4
_KEY: Final = ("flaw", "has_messages", "server_port", "direction")


def grouped(flaws: pl.DataFrame) -> pl.DataFrame:
    """Return the flaws with one row per kind, direction and server port.

    The columns are ``flows``, the first ``flow``, the first and last ``frame``, the sums of ``count`` and
    ``bytes``, and ``bytes_max``. Groups of consecutive parts may be grouped again. The result equals the
    groups of the whole capture.
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
    """Return one row for all flows with the flaw, or no row if no flow has it.

    The row has the finding columns except the texts, and the columns of :func:`grouped`. ``of_flows`` says
    how many of ``flows`` are HTTP flows (``http_flows``). ``filter`` is the tcpdump filter for a new capture
    of these flows.
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
    """Return the tcpdump filter for these ports, or for all TCP if there are many ports."""
    import polars as pl

    each = ports.unique().sort()
    named = pl.concat_str(pl.lit("'tcp port "), each.cast(pl.String).str.join(" or tcp port "), pl.lit("'"))
    return pl.when(each.len() <= _PORTS_MAX).then(named).otherwise(pl.lit("tcp"))
