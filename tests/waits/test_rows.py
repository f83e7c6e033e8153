"""Number of rows in the waits of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tcptrace_http import analyze
from tests.bench.loads import keep_alive
from tests.bench.make_captures import record

if TYPE_CHECKING:
    from pathlib import Path

# A response of 1 MB over a shared link of 600 Mb/s takes 48 rows if the segments' turns are merged (most are
# ends of flights), and 650 otherwise.
_ROWS_OF_A_MEGABYTE: Final = 150


@pytest.mark.slow
def test_ten_connections_on_a_fast_link_do_not_show_a_wait_for_each_segment(tmp_path: Path) -> None:
    recording = record(tmp_path, keep_alive("ten", responses=115))
    analysis = analyze(recording.path)
    assert len(analysis.waits) < _ROWS_OF_A_MEGABYTE * len(analysis.transactions)
