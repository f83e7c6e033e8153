"""Corner cases of TCP and HTTP, one family per file; ``CASES`` has them all by name."""

from __future__ import annotations

import importlib
from pathlib import Path

from .script import all_cases

__all__ = ["CASES"]

_HELPERS = {"__init__", "script", "tshark"}
for _page in sorted(Path(__file__).parent.glob("*.py")):
    if _page.stem not in _HELPERS and not _page.stem.startswith("test_"):
        importlib.import_module(f".{_page.stem}", __package__)
CASES = all_cases()
