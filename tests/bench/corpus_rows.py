"""Ten million transactions in a dataset's layout, and the reads of a query for one day and one host."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tcptrace_http.corpus.dataset import Marker
    from tcptrace_http.corpus.plan import Unit

__all__ = ["query"]

_FIRST: Final = date(2026, 11, 1)
_DAYS: Final = 14
_UNITS_A_DAY: Final = 7
_HOSTS: Final = 500
_SEED: Final = 1
#: The tenth host by traffic: about two in a hundred transactions.
_HOST: Final = "api-370.example"

#: The query runs in a process of its own, so that the process's reads are the query's. Local files are read
#: by calls, not mapped, so that the kernel counts them.
_QUERY: Final = """
import os, sys, time
os.environ["POLARS_FORCE_ASYNC"] = "1"
import datetime
import polars as pl
from tcptrace_http.corpus import corpus
def read(): return int(open("/proc/self/io").readline().split()[1])
elapsed = pl.col("end_time") - pl.col("start_time")
before, start = read(), time.monotonic()
transactions = corpus(sys.argv[1]).transactions
opened = time.monotonic()
slow = transactions.filter(
    pl.col("day") == datetime.date.fromisoformat(sys.argv[2]),
    pl.col("host") == sys.argv[3],
    elapsed > pl.duration(milliseconds=500),
).select("capture", "target", "start_time", elapsed.alias("elapsed")).collect(engine="streaming")
end = time.monotonic()
print(slow.height, opened - start, end - opened, read() - before)
"""


def query(folder: Path, rows: int) -> Iterator[tuple[str, str]]:
    """Make the rows, and query one day's slow transactions of one host."""
    dataset = folder / f"rows-{rows}"
    if not dataset.exists():
        _make(folder, dataset, rows)
    size = sum(path.stat().st_size for path in dataset.rglob("*.parquet"))
    yield "rows", f"{rows:,} in {len(list(dataset.rglob('*.parquet')))} objects of {size / 1e6:,.0f} MB in all"
    day, host = _FIRST + timedelta(days=_DAYS // 2), _HOST
    for name in ("first", "again"):
        command = [sys.executable, "-c", _QUERY, str(dataset), f"{day}", host]
        found, opening, seconds, read = subprocess.run(command, check=True, capture_output=True).stdout.split()
        told = f"{int(found):,} found in {float(seconds):.3f} s (and {float(opening):.3f} s to open the dataset)"
        share = f"{int(read) / 1e6:.1f} of {size / 1e6:,.0f} MB read"
        yield f"slow transactions of {host} on {day}, {name}", f"{told}, {share}"


def _make(folder: Path, dataset: Path, rows: int) -> None:
    """Write units with the dataset's own functions: real rows with other times, hosts and targets."""
    import tcptrace_http
    from tcptrace_http.corpus.dataset import create, read_state, write_plan
    from tcptrace_http.corpus.digests import canonical
    from tcptrace_http.corpus.plan import Plan
    from tcptrace_http.corpus.store import open_store
    from tcptrace_http.corpus.unit import marker_key
    from tests.bench.corpus_captures import make_captures

    made = dataset.with_suffix(".partial")
    shutil.rmtree(made, ignore_errors=True)
    (capture,) = make_captures(folder / "one", captures=1, size=4_000_000, seed=_SEED)
    real = tcptrace_http.analyze(str(capture)).transactions
    chance = np.random.default_rng(_SEED)
    store = open_store(str(made))
    create(store)
    of_unit = rows // (_DAYS * _UNITS_A_DAY)
    units: list[Unit] = []
    markers: list[Marker] = []
    for number in range(_DAYS * _UNITS_A_DAY):
        unit, marker, content = _unit(real, number, of_unit, chance)
        store.write(marker["objects"]["transactions"]["key"], content)
        units.append(unit)
        markers.append(marker)
    write_plan(read_state(str(made)), Plan(tuple(units), ()))
    for marker in markers:
        store.write(marker_key(marker["unit"]), canonical(marker))
    made.rename(dataset)


def _unit(real: pl.DataFrame, number: int, rows: int, chance: np.random.Generator) -> tuple[Unit, Marker, bytes]:
    from tcptrace_http.corpus.objects import described, parquet
    from tcptrace_http.corpus.plan import Unit
    from tcptrace_http.corpus.rows import in_order, labelled
    from tcptrace_http.corpus.sources import CaptureFile
    from tcptrace_http.corpus.unit import _marker

    part = timedelta(days=1) / _UNITS_A_DAY
    start = datetime.combine(_FIRST, datetime.min.time(), UTC) + number * part
    fingerprint = hashlib.sha256(str(number).encode()).hexdigest()[:16]
    file = CaptureFile(f"/captures/{fingerprint}.pcap", rows * 5_000, fingerprint, int(start.timestamp()) * 10**9)
    unit = Unit((file,))
    taken = real[chance.integers(real.height, size=rows)]
    begins = start + pl.Series(chance.integers(part // timedelta(microseconds=1), size=rows)).cast(
        pl.Duration("us")
    )
    shift = begins.cast(pl.Datetime("ns", "UTC")) - taken["start_time"]
    # A few hosts have most of the traffic, and one transaction in a hundred takes at least a second.
    host = pl.Series((chance.zipf(1.3, rows) * 37 % _HOSTS).astype(str))
    longer = pl.Series((chance.pareto(2, rows) * 100_000_000).astype(np.int64)).cast(pl.Duration("ns"))
    times = [name for name, dtype in taken.schema.items() if dtype == pl.Datetime("ns", "UTC")]
    frame = taken.with_columns(
        *(pl.col(name) + shift for name in times),
        flow=pl.Series(np.arange(rows) // 10).cast(pl.UInt32),
        index=pl.Series(np.arange(rows) % 10).cast(pl.UInt32),
        host="api-" + host + ".example",
        target="/item/" + pl.Series(chance.integers(10**6, size=rows).astype(str)),
    ).with_columns(end_time=pl.col("end_time") + longer)
    made = in_order(labelled(frame, unit.id, [(file.path, int(fingerprint, 16))]))
    content = parquet(made.lazy())
    key = f"transactions/day={unit.day}/{unit.id}.parquet"
    span = [file.first_ns, file.first_ns + part // timedelta(microseconds=1) * 1000]
    objects = {"transactions": described(key, content, rows)}
    return unit, _marker(unit, "ok") | {"objects": objects, "span_ns": span, "strange": {}}, content
