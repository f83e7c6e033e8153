"""Rows in order, however many: sorted runs in a temporary file, merged when they are read.

Each batch is one run, by the numbers of the flow and of the transaction. No row is in two of them, and
most rows of a run lie before those of the next, so that whole blocks are copied; only where two runs
overlap are rows looked at one by one.
"""

from __future__ import annotations

import heapq
import os
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ROW_END", "Runs"]

#: Between two rows. No row has a line feed inside: JSON writes them as an escape.
ROW_END: Final = b",\n"
#: Rows of a block; of each only its length is kept in memory.
ROWS_IN_A_BLOCK: Final = 256


#: Numbers of the flow and of the transaction; 0 where a row is a flow.
_Place = tuple[int, int]


class _Block(NamedTuple):
    """Rows of one run, by the places of the first and the last. Compared by these: no two are the same."""

    first: _Place
    last: _Place
    run: int
    rows: bytes


class Runs:
    """Sorted runs of rows, each an object that starts with its place: ``{"flow":17,"index":3,``."""

    def __init__(self) -> None:
        import tempfile

        self._file = tempfile.TemporaryFile(prefix="tcptrace-http-")  # noqa: SIM115 -- lives as long as this
        #: For each run the length of each of its blocks; the blocks lie end to end.
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
        """All rows in order, in pieces with ``ROW_END`` between them; once."""
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
    """The rows of a block before ``place``, of which there are some, and a block of the others."""
    end = 0
    while _place(block.rows, end) < place:
        end = block.rows.index(b"\n", end) + 1
    rest = block.rows[end:]
    return block.rows[: end - len(ROW_END)], block._replace(first=_place(rest, 0), rows=rest)


def _place(rows: bytes, row: int) -> _Place:
    """The place of the row that starts at ``row``."""
    start = row + len(b'{"flow":')
    end = rows.index(b",", start)
    index = end + len(b',"index":')
    if rows[end:index] != b',"index":':
        return int(rows[start:end]), 0
    return int(rows[start:end]), int(rows[index : rows.index(b",", index)])
