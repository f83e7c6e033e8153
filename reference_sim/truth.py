"""Truth of a simulation as tables, declared in :mod:`reference_sim.schema`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from reference_sim.schema import TABLES, polars_schema
from tcptrace_http._version import __version__
from tcptrace_http.errors import StaleNativeCore

try:
    from reference_sim import _native
except ImportError as error:
    raise StaleNativeCore(f"the simulator's native core could not be loaded ({error})") from error

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Truth", "native", "truth_of"]

#: Compiled engine, checked to be of this version.
native = _native

if _native.__version__ != __version__:
    raise StaleNativeCore(
        f"the simulator's native core has version {_native.__version__}, the Python package {__version__}"
    )


@dataclass(frozen=True)
class Truth:
    """Truth of a simulation. Tables that the scenario's ``record`` omits have no rows."""

    connections: pl.DataFrame
    transactions: pl.DataFrame
    retrievals: pl.DataFrame
    packets: pl.DataFrame
    hops: pl.DataFrame
    windows: pl.DataFrame
    queues: pl.DataFrame
    limits: pl.DataFrame
    frames: pl.DataFrame
    links: pl.DataFrame


def truth_of(outcome: native.Outcome) -> Truth:
    """Return the tables of a finished simulation."""
    return Truth(**{field.name: _frame(outcome, field.name) for field in fields(Truth)})


def _frame(outcome: native.Outcome, name: str) -> pl.DataFrame:
    """Convert the core's enumeration codes and integer times; other columns stay."""
    import polars as pl

    frame = pl.DataFrame(outcome.table(name))
    declared = polars_schema(TABLES[name])
    if frame.columns != list(declared):
        raise StaleNativeCore(f"the native core's columns of {name} are not those of the schema")
    return frame.with_columns(
        pl.col(name).cat.to(dtype) if isinstance(dtype, pl.Enum) else pl.col(name).cast(dtype)
        for name, dtype in declared.items()
        if frame.schema[name] != dtype
    )
