"""Baseline: the earlier violations, so that only new ones fail.

A baseline is a JSON file of fingerprints, without counts. A fingerprint covers the detector and the request's
method, host, port and target, but no times or frames. Another capture of the same behaviour has the same
fingerprints. Only the names of the target's query count.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.check.report import CheckReport, Outcome, Status
from tcptrace_http.errors import PolicyError
from tcptrace_http.redaction import redacted_url

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from pathlib import Path

__all__ = ["against", "baseline_of", "fingerprint", "load_baseline"]

_VERSION: Final = 2
_VERSIONS: Final = (1, _VERSION)
_DIGEST_BYTES: Final = 16


def fingerprint(*parts: object) -> str:
    """Return an identifier of a violation, equal in every capture of it."""
    text = "\0".join("" if part is None else str(part) for part in parts)
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES).hexdigest()


def baseline_of(report: CheckReport) -> str:
    """Return the baseline of all violations of a report, as JSON without query values."""
    words = {
        one.fingerprint: f"{one.name} {one.method or ''} {redacted_url(one.target or '')}".strip()
        for one in report.violations
    }
    entries = {key: words[key] for key in sorted(words)}
    return json.dumps({"version": _VERSION, "violations": entries}, indent=1, ensure_ascii=False) + "\n"


def load_baseline(path: Path) -> frozenset[str]:
    """Return the fingerprints of a baseline file, including version 1 with counts.

    :raises PolicyError: the file is not a baseline.
    """
    try:
        document: Any = json.loads(path.read_bytes())
        if document["version"] not in _VERSIONS:
            raise PolicyError(f"a baseline of version {document['version']}, not {_VERSION}", path=str(path))
        return frozenset(document["violations"].keys())
    except OSError as error:
        raise PolicyError(error.strerror or str(error), path=str(path)) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PolicyError("no baseline; write one with --write-baseline", path=str(path)) from None


def against(report: CheckReport, baseline: AbstractSet[str]) -> CheckReport:
    """Return the report with the violations of the baseline marked as known; they do not fail."""
    return replace(report, outcomes=[_known(outcome, baseline) for outcome in report.outcomes])


def _known(outcome: Outcome, baseline: AbstractSet[str]) -> Outcome:
    if outcome.status is not Status.FAILED:
        return outcome
    marked = [replace(one, is_known=one.fingerprint in baseline) for one in outcome.violations]
    if any(not one.is_known for one in marked):
        return replace(outcome, violations=marked)
    message = f"{outcome.message}; all are in the baseline"
    return replace(outcome, violations=marked, status=Status.PASSED, message=message)
