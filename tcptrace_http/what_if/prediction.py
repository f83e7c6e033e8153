"""The figures of a prediction: its rows, and the baseline that they are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from tcptrace_http.inference.part import Part

__all__ = ["Cause", "Prediction", "Range", "Row", "Skipped"]

#: A model that is further off its capture is warned of.
OFF_MAX: Final = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Nanoseconds over the draws of the figures."""

    low_ns: int
    median_ns: int
    high_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """What the critical paths of the retrievals spent on one cause, in nanoseconds."""

    cause: str
    before_ns: int
    after_ns: int

    @property
    def saved_ns(self) -> int:
        """What of it goes; negative: what comes."""
        return self.before_ns - self.after_ns


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One change and what comes of it."""

    #: ``fix`` or ``strategy``.
    kind: str
    name: str
    about: str
    source: str
    #: Time of the retrievals with it, by the figures as they were inferred.
    elapsed_ns: int
    #: What of the baseline's time it saves: the sum of the causes' savings, exactly.
    saved_ns: int
    elapsed: Range
    saved: Range
    #: What is saved, as a part of the baseline's time.
    share: float
    #: What changes most first.
    causes: tuple[Cause, ...]
    #: Who has to change something, of a fix: ``server``, ``client``, ``both``, ``path``.
    side: str = ""
    #: The findings of the capture that it mends: detectors.
    mends: tuple[str, ...] = ()
    #: Somebody can put it into practice as it is; else it is a bound.
    is_practical: bool = True
    #: The time is that of a second access: a first one filled a cache, or taught the hosts something.
    is_second_access: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A change that has no row, and why."""

    kind: str
    name: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """The predictions of one capture; times are nanoseconds of its retrievals together, without pauses between."""

    capture: str
    #: Those that are told of; and how many the capture has.
    retrievals: int
    captured_retrievals: int
    #: What the capture took.
    measured_ns: int
    #: What the inferred scenario takes on the captured path.
    modelled_ns: int
    #: What is changed: the same, on the path that was asked for, if one was.
    baseline_ns: int
    baseline: Range
    #: By cause; they sum to ``baseline_ns``.
    baseline_causes: Mapping[str, int]
    #: The path that was asked for; None: as captured.
    rtt_ns: int | None
    rate: int | None
    #: Findings of the capture in these retrievals, by cause and detector: how many.
    stalls: Mapping[str, Mapping[str, int]]
    #: What hosts the capture does not tell apart, by figure: the inferred value first. Ranges take all of them.
    left_open: Mapping[str, tuple[str, ...]]
    #: How much of the retrievals the times are of; None: all of it.
    part: Part | None
    #: What saves most first.
    rows: tuple[Row, ...]
    skipped: tuple[Skipped, ...]

    @property
    def off(self) -> float:
        """How far the modelled time is from the measured one, as a part of that."""
        return abs(self.modelled_ns - self.measured_ns) / max(self.measured_ns, 1)

    @property
    def retells(self) -> bool:
        """Whether the model is near enough to the capture to be believed."""
        return self.off <= OFF_MAX

    def row(self, name: str) -> Row:
        """The row of this fix or strategy.

        :raises KeyError: there is none.
        """
        found = next((row for row in self.rows if row.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    @property
    def table(self) -> pl.DataFrame:
        """The rows as a frame; times are ``Duration``."""
        import polars as pl

        times = ("elapsed", "low", "high", "saved", "saved_low", "saved_high")
        rows = [
            (
                *(row.kind, row.name, row.elapsed_ns, row.elapsed.low_ns, row.elapsed.high_ns),
                *(row.saved_ns, row.saved.low_ns, row.saved.high_ns, row.share, list(row.mends), row.note),
            )
            for row in self.rows
        ]
        schema: dict[str, pl.DataType | type[pl.DataType]] = {
            "kind": pl.String,
            "name": pl.String,
            **dict.fromkeys(times, pl.Int64),
            "share": pl.Float64,
            "mends": pl.List(pl.String),
            "note": pl.String,
        }
        return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col(times).cast(pl.Duration("ns")))
