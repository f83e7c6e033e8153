"""Sorted rows in any number: runs in a temporary file, merged on reading.

Each batch is one run, sorted by flow and transaction number. No row is in two runs. Most rows of a run
precede those of the next, so whole blocks are copied. Only overlapping runs need a look at single rows.
"""

from __future__ import annotations

import heapq
import os
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ROW_END", "Runs"]

#: Separator between two rows. No row has a line feed inside: JSON escapes it.
ROW_END: Final = b",\n"
#: Rows per block; memory keeps only the length of each block.
ROWS_IN_A_BLOCK: Final = 256


#: Flow and transaction numbers; 0 for the row of a flow.
_Place = tuple[int, int]


class _Block(NamedTuple):
    """Rows of one run with their first and last places. The places order the blocks, and no two are equal."""

    first: _Place
    last: _Place
    run: int
    rows: bytes


class Runs:
    """Sorted runs of rows, each an object that starts with its place: ``{"flow":17,"index":3,``."""

    def __init__(self) -> None:
        import tempfile

        self._file = tempfile.TemporaryFile(prefix="tcptrace-http-")  # noqa: SIM115 -- lives as long as this
        #: Lengths of the blocks of each run; the blocks lie end to end.
        self._runs: list[tuple[int, array[int]]] = []
        self._end = 0

    def add(self, count: int, rows: Callable[[int, int], bytes]) -> None:
        """Add a run of ``count`` rows; ``rows(first, n)`` renders n of them."""
        lengths = array("Q")
        start = self._end
        for first in range(0, count, ROWS_IN_A_BLOCK):
            block = rows(first, ROWS_IN_A_BLOCK)
            self._file.write(block)
            lengths.append(len(block))
            self._end += len(block)
        if lengths:
            self._runs.append((start, lengths))

    def merged(self) -> Iterator[bytes]:
        """Yield all rows in order once, in pieces with ``ROW_END`` between them."""
        with self._file:
            self._file.flush()
            is_first = True
            for piece in self._pieces():
                if not is_first:
                    yield ROW_END
                is_first = False
                yield piece

    def _pieces(self) -> Iterator[bytes]:
        sources = [self._blocks(run, start, lengths) for run, (start, lengths) in enumerate(self._runs)]
        heads = [next(source) for source in sources]
        heapq.heapify(heads)
        while heads:
            block = heads[0]
            others = min((head.first for head in heads[1:3]), default=None)
            if others is None or block.last < others:
                yield block.rows
                _replace_head(heads, next(sources[block.run], None))
                continue
            before, after = _divided(block, others)
            yield before
            heapq.heapreplace(heads, after)

    def _blocks(self, run: int, start: int, lengths: array[int]) -> Iterator[_Block]:
        for length in lengths:
            rows = os.pread(self._file.fileno(), length, start)
            start += length
            last_row = rows.rfind(b"\n") + 1
            yield _Block(_place(rows, 0), _place(rows, last_row), run, rows)


def _replace_head(heads: list[_Block], block: _Block | None) -> None:
    if block is None:
        heapq.heappop(heads)
    else:
        heapq.heapreplace(heads, block)


def _divided(block: _Block, place: _Place) -> tuple[bytes, _Block]:
    """Return the rows of a block before ``place`` (at least one), and a block of the others."""
    end = 0
    while _place(block.rows, end) < place:
        end = block.rows.index(b"\n", end) + 1
    rest = block.rows[end:]
    return block.rows[: end - len(ROW_END)], block._replace(first=_place(rest, 0), rows=rest)


def _place(rows: bytes, row: int) -> _Place:
    """Return the place of the row that starts at ``row``."""
    start = row + len(b'{"flow":')
    end = rows.index(b",", start)
    index = end + len(b',"index":')
    if rows[end:index] != b',"index":':
        return int(rows[start:end]), 0
    return int(rows[start:end]), int(rows[index : rows.index(b",", index)])
