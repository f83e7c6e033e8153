"""Kinds of runs, one file per kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import black_holes, hangs, offload, proxied, routed, sleeping, uploads

if TYPE_CHECKING:
    from ..scenario import Scenario

__all__ = ["all_scenarios"]

_KINDS: Final = (proxied, sleeping, offload, black_holes, hangs, routed, uploads)


def all_scenarios() -> list[Scenario]:
    """Return every scenario, kind by kind."""
    return [scenario for kind in _KINDS for scenario in kind.scenarios()]
