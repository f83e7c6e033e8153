"""Identity of a run: the same identity implies the same figures.

The identity covers all inputs of the figures: the scenario's document with its seed, the measure's name and
source, and the engine. The engine is identified by its version and the SHA-256 of the compiled module, so a
build of other sources measures anew. The measure includes its module and that module's imports from the
papers and the readings. The scenario's origin is irrelevant: the document is complete.
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

#: Packages whose functions the measures use; other modules belong to the engine or compute no figures.
_OF_MEASURES: Final = ("reference_sim.papers", "reference_sim.reproduction.readings")


def canonical(document: Mapping[str, Any]) -> str:
    """Return the text of a scenario's document: equal documents give equal text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def identity(text: str, measure: Measure) -> str:
    """Return the hexadecimal key under which the figures of this scenario text are stored."""
    parts = (engine(), measure_name(measure), _digest_of(measure.__module__), text)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def measure_name(measure: Measure) -> str:
    """Return the location of the measure: ``module:name``."""
    return f"{measure.__module__}:{measure.__qualname__}"


@cache
def engine() -> str:
    """Return version and digest of the engine, and of the Python code that passes its tables on."""
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
    """Return the module, and its imports that belong to measures."""
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
