"""Addresses of the documentation site, in this module only."""

from __future__ import annotations

from typing import Final

__all__ = ["SITE", "detector_page"]

#: Root of the published site. SARIF, the text report and ``explain`` link to pages below it.
SITE: Final = "https://tcptrace-http.readthedocs.io/"


def detector_page(name: str) -> str:
    """Return the address of a detector's page; the address is the same in every version."""
    return f"{SITE}detectors/{name}/"
