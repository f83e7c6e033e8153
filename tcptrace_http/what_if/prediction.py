"""Predictions for a capture: the rows, and their baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from tcptrace_http.inference.observed import Part

__all__ = ["Cause", "Prediction", "Range", "Row", "Skipped"]

#: Maximum relative deviation of a model without a warning.
OFF_MAX: Final = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Nanoseconds over the draws of the figures."""

    low_ns: int
    median_ns: int
    high_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """Time of one cause on the critical paths of the retrievals, in nanoseconds."""

    cause: str
    before_ns: int
    after_ns: int

    @property
    def saved_ns(self) -> int:
        """Return the saved time; negative for added time."""
        return self.before_ns - self.after_ns


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """Change with its predicted result."""

    #: ``fix`` or ``strategy``.
    kind: str
    name: str
    about: str
    source: str
    #: Time of the retrievals with the change, with the inferred figures.
    elapsed_ns: int
    #: Saving against the baseline: exactly the sum of the causes' savings.
    saved_ns: int
    elapsed: Range
    saved: Range
    #: Saving as a share of the baseline's time.
    share: float
    #: Changed causes, largest change first.
    causes: tuple[Cause, ...]
    #: Party that must make a fix: ``server``, ``client``, ``both``, ``path``.
    side: str = ""
    #: Detectors whose findings in this capture the fix removes.
    fixed_findings: tuple[str, ...] = ()
    #: True for a practical fix; False for a bound.
    is_practical: bool = True
    #: True for the time of a second access, after a first one that filled a cache or shared path state.
    is_second_access: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """Change without a row, and the reason."""

    kind: str
    name: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """Predictions for one capture. Times are nanoseconds of its retrievals together, without pauses."""

    capture: str
    #: Number of predicted retrievals, and number of captured ones.
    retrievals: int
    captured_retrievals: int
    #: Time in the capture.
    measured_ns: int
    #: Time of the inferred scenario on the captured path.
    modelled_ns: int
    #: Time of the inferred scenario on the requested path; the reference of all changes.
    baseline_ns: int
    baseline: Range
    #: Baseline by cause; the causes sum to ``baseline_ns``.
    baseline_causes: Mapping[str, int]
    #: Requested path; None: as captured.
    rtt_ns: int | None
    rate: int | None
    #: Number of findings of the capture in these retrievals, by cause and detector.
    stalls: Mapping[str, Mapping[str, int]]
    #: Hosts that the capture does not distinguish, by figure, the inferred value first. Ranges cover all of
    #: them.
    undetermined: Mapping[str, tuple[str, ...]]
    #: Part of the retrievals in the times; None for all of it.
    part: Part | None
    #: Rows, largest saving first.
    rows: tuple[Row, ...]
    skipped: tuple[Skipped, ...]

    @property
    def off(self) -> float:
        """Return the relative deviation of the modelled time from the measured time."""
        return abs(self.modelled_ns - self.measured_ns) / max(self.measured_ns, 1)

    @property
    def is_reproduced(self) -> bool:
        """Return whether the model is near enough to the capture."""
        return self.off <= OFF_MAX

    def row(self, name: str) -> Row:
        """Return the row of this fix or strategy.

        :raises KeyError: no row has this name.
        """
        found = next((row for row in self.rows if row.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    @property
    def table(self) -> pl.DataFrame:
        """Return the rows as a frame; times are ``Duration``."""
        import polars as pl

        times = ("elapsed", "low", "high", "saved", "saved_low", "saved_high")
        rows = [
            (
                *(row.kind, row.name, row.elapsed_ns, row.elapsed.low_ns, row.elapsed.high_ns),
                *(
                    row.saved_ns,
                    row.saved.low_ns,
                    row.saved.high_ns,
                    row.share,
                    list(row.fixed_findings),
                    row.note,
                ),
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
