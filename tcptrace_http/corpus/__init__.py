"""Datasets of many captures: Parquet objects, and markers of complete units.

::

    from tcptrace_http.corpus import add_captures, corpus

    add_captures(["captures/"], into="week")
    corpus("week").findings.group_by("detector").len().collect()

A dataset is a folder, or a prefix of an object store. A *plan* lists the units, groups of captures that one
worker analyses (:mod:`~tcptrace_http.corpus.plan`); a worker analyses a unit, writes its rows and then its
marker (:mod:`~tcptrace_http.corpus.unit`). ``add`` may therefore be interrupted, killed, or distributed over
machines. A unit without a marker is analysed again, with the same resulting bytes.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import os

    from tcptrace_http.corpus.add import Added, add_captures, retry
    from tcptrace_http.corpus.dataset import is_dataset
    from tcptrace_http.corpus.reading import Corpus, corpus
    from tcptrace_http.corpus.sealing import seal

__all__ = ["Added", "Corpus", "add_captures", "corpus", "is_dataset", "retry", "seal"]

_MODULE_OF: Final = {
    "Added": "add",
    "Corpus": "reading",
    "add_captures": "add",
    "corpus": "reading",
    "is_dataset": "dataset",
    "retry": "add",
    "seal": "sealing",
}


def __getattr__(name: str) -> object:
    """Import a public name from the module that holds it (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


class _Module(ModuleType):
    """Package that is also callable: ``tcptrace_http.corpus("week")``."""

    def __call__(self, location: str | os.PathLike[str]) -> Corpus:
        """Open a dataset; see :func:`~tcptrace_http.corpus.reading.corpus`."""
        from tcptrace_http.corpus.reading import corpus

        return corpus(location)


sys.modules[__name__].__class__ = _Module
