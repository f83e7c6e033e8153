"""Joint judgement of many small captures: detectors cost the same for one capture as for a hundred.

The flows of all captures get unique numbers. Hosts of different captures are distinct: their addresses are
marked for the detectors that compare flows. The findings equal those of each separate capture.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tcptrace_http.candidates import CANDIDATE_TABLES, GATHERED_COLUMNS, JUDGED_COLUMNS, OF_OBJECTS
from tcptrace_http.corpus.rows import CAPTURE_NUMBER
from tcptrace_http.counterfactual import with_counterfactual
from tcptrace_http.detectors import (
    DETECTORS,
    Gathered,
    findings_of_capture,
    findings_of_flows,
    findings_of_pages,
    findings_over_flows,
    in_order,
    inconclusive,
)
from tcptrace_http.pages import PAGE_TABLES
from tcptrace_http.schema import TABLES, polars_schema
from tcptrace_http.trace import frame_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.trace import native

__all__ = ["Together", "UnnamedHost", "is_simple"]

#: Maximum sizes of a group, below the limits of the flow-comparing detectors (``NOTABLE_MAX`` is 32,768),
#: which apply per capture.
_FLOWS_MAX: Final = 8192
_CAPTURES_MAX: Final = 128
#: Maximum number of rows of the largest table, about 30 MB.
_WAITS_MAX: Final = 1 << 17
#: Columns with the capture number, and the offset of its flow and page numbers.
_NUMBER, _BASE = CAPTURE_NUMBER, "first_number"
#: Separator between the capture number and a host's address. No address contains it.
_MARK: Final = "\x1f"
_MARKED: Final = rf"\d+{_MARK}"
#: Flow and page numbers in the evidence of findings.
_NAMED_FLOWS: Final = re.compile(r"\b(?:flows?|retrieval) \d+(?:(?:, | and )\d+)*")
_HOSTS: Final = ("client", "server")
#: Host columns of object texts, where the URL represents the server.
_HOSTS_OF_OBJECTS: Final = (*_HOSTS, "host", "next_host")
_OF_PAGES: Final = ("flows", "transactions", "flaws")


def is_simple(analysis: Analysis) -> bool:
    """Return whether a complete capture can be judged together with others."""
    decoded = analysis.decoded
    return (
        decoded is not None
        and not decoded.strangeness
        and not analysis.may_have_hops
        and not analysis.cut
        and decoded.rows.count("flows") <= _FLOWS_MAX
    )


class UnnamedHost(ValueError):
    """Finding about several flows that names neither its flow nor a host."""


class Together:
    """Collector of simple captures that returns the tables of all."""

    def __init__(self) -> None:
        self._captures: list[Analysis] = []
        self._rows: list[native.Rows] = []
        self._bases = [0]
        self._waits = 0

    def add(self, analysis: Analysis) -> None:
        """Take a capture."""
        assert analysis.decoded is not None  # noqa: S101 -- it is simple
        rows = analysis.decoded.rows
        self._rows.append(rows)
        self._captures.append(analysis)
        self._bases.append(self._bases[-1] + max(rows.count("flows"), rows.count("transactions")) + 1)
        self._waits += rows.count("waits")

    @property
    def is_full(self) -> bool:
        """Return whether the next capture needs another group."""
        is_large = self._bases[-1] > _FLOWS_MAX or self._waits > _WAITS_MAX
        return is_large or len(self._captures) >= _CAPTURES_MAX

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables of all captures; ``capture_number`` counts the captures from 0."""
        made = {
            name: self._frame(name, ((rows.count(name), rows) for rows in self._rows))
            for name, table in TABLES.items()
            if table.native and not table.on_request and name not in PAGE_TABLES
        }
        pages = [one.pages.rows for one in self._captures]
        made |= {name: self._frame(name, ((rows.count(name), rows) for rows in pages)) for name in PAGE_TABLES}
        findings = self._findings(made)
        told = [
            inconclusive(DETECTORS.values(), flaws, findings.filter(numbered)).with_columns(self._labels(number))
            for number, flaws, numbered in self._with_flaws(made["flaws"])
            if self._captures[number].has_candidates
        ]
        made["findings"] = findings
        made["inconclusive"] = _joined(told, "inconclusive")
        return {name: frame.drop(_BASE) for name, frame in made.items()}

    def _frame(self, name: str, sources: Iterable[tuple[int, native.Rows | native.PageRows]]) -> pl.DataFrame:
        """Return the rows of all captures, typed at once."""
        import polars as pl

        raw = [
            pl.DataFrame(rows.table(name)).with_columns(self._labels(number))
            for number, (count, rows) in enumerate(sources)
            if count
        ]
        if not raw:
            return _joined([], name)
        whole = pl.concat(raw)
        typed = frame_of(whole.drop(_NUMBER, _BASE), TABLES[name], statistics=False)
        return typed.with_columns(whole[_NUMBER], whole[_BASE])

    def _labels(self, number: int) -> list[pl.Expr]:
        import polars as pl

        return [
            pl.lit(number, pl.UInt32).alias(_NUMBER),
            pl.lit(self._bases[number], pl.UInt32).alias(_BASE),
        ]

    def _with_flaws(self, flaws: pl.DataFrame) -> Iterable[tuple[int, pl.DataFrame, pl.Expr]]:
        """Yield the flaws of each capture that has any."""
        import polars as pl

        for number in flaws[_NUMBER].unique(maintain_order=True):
            numbered = pl.col(_NUMBER) == number
            yield number, flaws.filter(numbered).drop(_NUMBER, _BASE), numbered

    def _findings(self, made: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Return the findings of all captures, with their original flow numbers."""
        import polars as pl

        judged = [number for number, one in enumerate(self._captures) if one.has_candidates]
        numbered = {
            name: _numbered(
                frame.filter(pl.col(_NUMBER).is_in(judged)), _HOSTS_OF_OBJECTS if name in OF_OBJECTS else _HOSTS
            )
            for name, frame in made.items()
        }
        found: list[pl.DataFrame] = []
        if judged:
            found += self._of_flows(numbered, judged)
        found += self._of_pages(made)
        told = [self._assigned(frame) for frame in found if not frame.is_empty()]
        told += [
            _numbered(findings_of_capture(flaws, is_cut=False).with_columns(self._labels(number)))
            for number, flaws, _ in self._with_flaws(made["flaws"])
        ]
        whole = pl.concat([frame for frame in told if not frame.is_empty()] or [_joined([], "findings")])
        whole = in_order([_with_software(whole, numbered["transactions"], judged)])
        own = whole.sort(_NUMBER, maintain_order=True).with_columns((pl.col("flow") - pl.col(_BASE)).alias("flow"))
        return own.select(_joined([], "findings").columns)

    def _of_flows(self, tables: Mapping[str, pl.DataFrame], judged: Sequence[int]) -> list[pl.DataFrame]:
        import polars as pl

        flows = pl.Series(
            sorted(
                flow + self._bases[number] for number in judged for flow in self._captures[number].judged_flows
            ),
            dtype=pl.UInt32,
        )
        is_judged = pl.col("flow").is_in(flows.implode())
        facts = {name: tables[name].filter(is_judged).select(only) for name, only in _columns(JUDGED_COLUMNS)}
        given = {name: tables[name] for name in CANDIDATE_TABLES} | facts
        given["waits"] = tables["waits"].filter(is_judged)
        of_flows = with_counterfactual(findings_of_flows(given), given["waits"], given["transactions"])
        gathered = Gathered()
        gathered.add(given | {name: tables[name].select(only) for name, only in _columns(GATHERED_COLUMNS)}, ())
        return [of_flows, findings_over_flows(gathered)]

    def _of_pages(self, made: Mapping[str, pl.DataFrame]) -> list[pl.DataFrame]:
        import polars as pl

        chosen = [number for number, one in enumerate(self._captures) if one.pages.has_candidates]
        if not chosen:
            return []
        sources = {
            name: pl.concat(
                [self._captures[number].pages.source(name).with_columns(self._labels(number)) for number in chosen]
            )
            for name in _OF_PAGES
        }
        tables = sources | {name: made[name].filter(pl.col(_NUMBER).is_in(chosen)) for name in PAGE_TABLES}
        return [findings_of_pages({name: _numbered(frame) for name, frame in tables.items()})]

    def _assigned(self, found: pl.DataFrame) -> pl.DataFrame:
        """Return the findings by capture: by their flow, page or marked host."""
        import polars as pl

        bases = pl.Series(self._bases, dtype=pl.UInt32)
        page = found["evidence"].str.extract(r"^retrieval (\d+),").cast(pl.UInt32)
        # Each capture numbers flows and pages from the same first number.
        known = found.select(pl.coalesce("flow", page)).to_series()
        of_known = bases.search_sorted(known.fill_null(0), side="right").cast(pl.UInt32) - 1
        text = pl.concat_str("summary", "evidence", "remedy", ignore_nulls=True)
        named = text.str.extract(rf"(\d+){_MARK}").cast(pl.UInt32)
        told = found.with_columns(pl.when(known.is_not_null()).then(of_known).otherwise(named).alias(_NUMBER))
        if told[_NUMBER].has_nulls():
            detectors = told.filter(pl.col(_NUMBER).is_null())["detector"].unique().to_list()
            raise UnnamedHost(f"findings about several flows name no host: {', '.join(detectors)}")
        base = pl.col(_NUMBER).replace_strict(range(len(self._bases)), self._bases, return_dtype=pl.UInt32)
        strings = [name for name, dtype in found.schema.items() if dtype == pl.String]
        told = told.with_columns(base.alias(_BASE), pl.col(strings).str.replace_all(_MARKED, ""))
        evidence = [
            None if text is None else _with_own_flows(text, first)
            for text, first in told.select("evidence", _BASE).iter_rows()
        ]
        return told.with_columns(pl.Series("evidence", evidence, dtype=pl.String))


def _with_own_flows(text: str, base: int) -> str:
    """Return the evidence with the original flow numbers."""

    def own(found: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(int(number[0]) - base), found[0])

    return _NAMED_FLOWS.sub(own, text)


def _joined(frames: Sequence[pl.DataFrame], name: str) -> pl.DataFrame:
    import polars as pl

    schema = polars_schema(TABLES[name], statistics=False) | {_NUMBER: pl.UInt32(), _BASE: pl.UInt32()}
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)


def _columns(only: Mapping[str, Iterable[str]]) -> Iterable[tuple[str, list[str]]]:
    """Yield the columns of tables in their order."""
    for name, columns in only.items():
        yield name, [one.name for one in TABLES[name].columns if one.name in set(columns)]


def _numbered(frame: pl.DataFrame, marked: Iterable[str] = _HOSTS) -> pl.DataFrame:
    """Return the rows with unique flow and page numbers, and marked hosts."""
    import polars as pl

    numbers = [
        name
        for name, dtype in frame.schema.items()
        if dtype == pl.UInt32 and (name in {"flow", "retrieval"} or name.endswith("_flow"))
    ]
    hosts = [name for name in marked if frame.schema.get(name) == pl.String]
    return frame.with_columns(
        *((pl.col(name) + pl.col(_BASE)).alias(name) for name in numbers),
        *(pl.concat_str(pl.col(_NUMBER), pl.lit(_MARK), name).alias(name) for name in hosts),
    )


def _with_software(found: pl.DataFrame, transactions: pl.DataFrame, judged: Sequence[int]) -> pl.DataFrame:
    """Return the findings of each capture with its server software; see ``detectors.with_software``."""
    import polars as pl

    from tcptrace_http.detectors._software import SOFTWARE, with_software

    software = SOFTWARE.rows({"transactions": transactions}).collect()
    software = software.join(transactions.select("flow", _NUMBER).unique(), on="flow", how="left")
    parts = []
    if found.is_empty():
        return found
    for number in found[_NUMBER].unique().sort():
        own = found.filter(pl.col(_NUMBER) == number)
        seen = software.filter(pl.col(_NUMBER) == number).drop(_NUMBER)
        parts.append(with_software(own, seen) if number in judged else own)
    return pl.concat(parts)
