"""Addresses of the documentation site: the one place that names them."""

from __future__ import annotations

from typing import Final

__all__ = ["SITE", "detector_page"]

#: The root of the published site. SARIF, the text report and ``explain`` link to pages below it.
SITE: Final = "https://tcptrace-http.readthedocs.io/"


def detector_page(name: str) -> str:
    """Return the address of the page of a detector; it stays the same in every version."""
    return f"{SITE}detectors/{name}/"
