"""Server software of findings: of one transaction, of several flows, or of the whole capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._gather import Gather

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["SOFTWARE", "software_of_flows", "with_software"]

#: Maximum number of pairs of a flow and a Server field. A flow rarely has two.
PAIRS_MAX: Final = 1 << 17
#: Maximum length of a Server field. No known setting depends on a longer one.
_CHARACTERS_MAX: Final = 128


def _seen(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    import polars as pl

    software = pl.col("server_software").str.slice(0, _CHARACTERS_MAX)
    return tables["transactions"].lazy().select("flow", software).drop_nulls().pipe(_merged)


def _merged(pairs: pl.LazyFrame) -> pl.LazyFrame:
    return pairs.unique().sort("flow", "server_software").head(PAIRS_MAX)


#: Server fields (RFC 9110, section 10.2.4) of the responses of each flow.
SOFTWARE: Final = Gather("software", _seen, _merged, "transactions", adds_up=True)


def software_of_flows(flows: pl.Series, software: pl.DataFrame) -> pl.Series:
    """Return the Server field of the responses of each list of flows; null for none or several."""
    import polars as pl

    found = (
        pl.DataFrame({"row": pl.int_range(len(flows), eager=True), "flow": flows})
        .explode("flow")
        .join(software, on="flow")
        .group_by("row")
        .agg(_only_one())
    )
    rows = pl.DataFrame({"row": pl.int_range(len(flows), eager=True)})
    return rows.join(found, on="row", how="left", maintain_order="left")["server_software"]


def with_software(findings: pl.DataFrame, software: pl.DataFrame) -> pl.DataFrame:
    """Return the findings with ``server_software`` filled in from their flow, or from the capture if it has one
    value.

    Only findings whose own responses do not name the software change.
    """
    import polars as pl

    of_flow = software.group_by("flow").agg(_only_one().alias("of_flow"))
    of_capture = software.select(_only_one()).item()
    return (
        findings.join(of_flow, on="flow", how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("server_software", "of_flow", pl.lit(of_capture, pl.String)).alias("server_software")
        )
        .drop("of_flow")
    )


def _only_one() -> pl.Expr:
    import polars as pl

    software = pl.col("server_software")
    return pl.when(software.n_unique() == 1).then(software.first()).alias("server_software")
