"""The published figures: the CSV files of this package, which nothing else reads."""

from __future__ import annotations

import csv
from importlib.resources import files

__all__ = ["published"]


def published(name: str) -> list[dict[str, str]]:
    """Return the rows of ``NAME.csv``, as they are printed.

    :raises FileNotFoundError: there is no such file.
    """
    text = files("reference_sim.papers").joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
