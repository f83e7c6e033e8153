"""Published figures: the CSV files of this package, read only here."""

from __future__ import annotations

import csv
from importlib.resources import files

__all__ = ["published"]


def published(name: str) -> list[dict[str, str]]:
    """Return the rows of ``NAME.csv`` as printed.

    :raises FileNotFoundError: the file does not exist.
    """
    text = files("reference_sim.papers").joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
