"""What a run is known by: the same identity, the same figures.

Into it goes all that the figures depend on: the scenario's document with its seed, the measure by its
name and source, and the engine. Of the engine it is the version and the SHA-256 of the compiled module,
so that a build of other sources measures anew; of the measure, its module and what that imports of the
papers and of the readings. How a scenario came about is not in it: the document says it all.
"""

from __future__ import annotations

import ast
import hashlib
import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reference_sim import schema, simulation, truth
from tcptrace_http._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_sim.reproduction.experiment import Measure

__all__ = ["canonical", "engine", "identity", "measure_name"]

#: Modules whose functions measures use; others are of the engine or have no figures in them.
_OF_MEASURES: Final = ("reference_sim.papers", "reference_sim.reproduction.readings")


def canonical(document: Mapping[str, Any]) -> str:
    """The text of a scenario's document: the same document, the same text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def identity(text: str, measure: Measure) -> str:
    """The name under which the figures of the scenario of this text are kept, in hexadecimal."""
    parts = (engine(), measure_name(measure), _digest_of(measure.__module__), text)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def measure_name(measure: Measure) -> str:
    """Where the measure is found: ``module:name``."""
    return f"{measure.__module__}:{measure.__qualname__}"


@cache
def engine() -> str:
    """Version and digest of what simulates, and of the Python that hands its tables over."""
    digest = hashlib.sha256()
    for path in (truth.native.__file__, simulation.__file__, truth.__file__, schema.__file__):
        digest.update(Path(path).read_bytes())
    return f"{__version__} {digest.hexdigest()}"


@cache
def _digest_of(module: str) -> str:
    digest = hashlib.sha256()
    for name in sorted(_sources_of(module, set())):
        digest.update(_source(name))
    return digest.hexdigest()


def _sources_of(module: str, known: set[str]) -> set[str]:
    """The module, and what it imports of the modules that are of measures."""
    if module not in known:
        known.add(module)
        for name in _imported(ast.parse(_source(module))):
            if name.startswith(_OF_MEASURES):
                _sources_of(name, known)
    return known


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


@cache
def _source(module: str) -> bytes:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no source of {module}", name=module)
    return Path(spec.origin).read_bytes()
