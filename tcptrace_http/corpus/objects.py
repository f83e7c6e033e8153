"""Conversion of rows to Parquet objects in bounded memory; large data waits on disk."""

from __future__ import annotations

import io
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tcptrace_http.corpus.digests import digest
from tcptrace_http.corpus.rows import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import Self

    import polars as pl

__all__ = ["ROW_GROUP_ROWS", "Objects", "described", "parquet"]

#: Rows per row group: readers skip groups by their minimum and maximum. A group covers a few minutes of a
#: busy server.
ROW_GROUP_ROWS: Final = 1 << 15
#: Maximum bytes of rows in memory; a worker has about 150 MB besides.
_KEPT_BYTES_MAX: Final = 48 << 20


class Objects:
    """Tables of a unit during its analysis; a context manager that leaves nothing on disk."""

    def __init__(self) -> None:
        self._kept: dict[str, list[pl.DataFrame]] = defaultdict(list)
        self._kept_bytes = 0
        self._on_disk: dict[str, list[Path]] = defaultdict(list)
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Take rows of tables."""
        for name, frame in tables.items():
            if not frame.is_empty():
                self._kept[name].append(frame)
                self._kept_bytes += int(frame.estimated_size())
        if self._kept_bytes > _KEPT_BYTES_MAX:
            self._put_away()

    def _put_away(self) -> None:
        import polars as pl

        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tcptrace-http-")
        for name, frames in self._kept.items():
            path = Path(self._folder.name, f"{name}-{len(self._on_disk[name])}.arrow")
            in_order(pl.concat(frames)).write_ipc(path, compression="lz4")
            self._on_disk[name].append(path)
        self._kept.clear()
        self._kept_bytes = 0

    def written(self) -> Iterator[tuple[str, bytes, int]]:
        """Yield each non-empty table as a Parquet object, with its number of rows."""
        import polars as pl

        if self._on_disk:
            self._put_away()
            for name, paths in sorted(self._on_disk.items()):
                scanned = pl.scan_ipc(paths)
                yield name, parquet(scanned), scanned.select(pl.len()).collect().item()
            return
        for name, frames in sorted(self._kept.items()):
            frame = in_order(pl.concat(frames))
            yield name, parquet(frame.lazy()), frame.height


def parquet(rows: pl.LazyFrame) -> bytes:
    """Return the rows as a Parquet object."""
    sink = io.BytesIO()
    rows.sink_parquet(sink, compression="zstd", statistics=True, row_group_size=ROW_GROUP_ROWS)
    return sink.getvalue()


def described(key: str, content: bytes, rows: int) -> dict[str, str | int]:
    """Return the description of an object in a marker."""
    return {"key": key, "bytes": len(content), "rows": rows, "digest": digest(content)}
