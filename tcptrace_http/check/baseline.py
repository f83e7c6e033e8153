"""A baseline: the violations that were there before, so that only new ones fail.

It is a JSON file of fingerprints and how often each was seen. A fingerprint is made of the detector and
of the request's method, host, port and target, and not of times or frames: another capture of the same
behaviour has the same ones. Of more violations with one fingerprint than before, those beyond are new.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.check.report import CheckReport, Outcome, Status
from tcptrace_http.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tcptrace_http.check.report import Violation

__all__ = ["against", "baseline_of", "fingerprint", "load_baseline"]

_VERSION: Final = 1
_DIGEST_BYTES: Final = 16


def fingerprint(*parts: object) -> str:
    """A name for what was found, the same in every capture of it."""
    text = "\0".join("" if part is None else str(part) for part in parts)
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES).hexdigest()


def baseline_of(report: CheckReport) -> str:
    """The baseline that has all violations of a report, as JSON for a file."""
    seen = Counter(violation.fingerprint for violation in report.violations)
    words = {
        one.fingerprint: f"{one.name} {one.method or ''} {one.target or ''}".strip() for one in report.violations
    }
    entries = {key: {"count": seen[key], "is": words[key]} for key in sorted(seen)}
    return json.dumps({"version": _VERSION, "violations": entries}, indent=1, ensure_ascii=False) + "\n"


def load_baseline(path: Path) -> Mapping[str, int]:
    """How often each fingerprint was seen.

    :raises PolicyError: the file is no baseline.
    """
    try:
        document: Any = json.loads(path.read_bytes())
        if document["version"] != _VERSION:
            raise PolicyError(f"a baseline of version {document['version']}, not {_VERSION}", path=str(path))
        return {key: int(entry["count"]) for key, entry in document["violations"].items()}
    except OSError as error:
        raise PolicyError(error.strerror or str(error), path=str(path)) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PolicyError("no baseline; write one with --write-baseline", path=str(path)) from None


def against(report: CheckReport, baseline: Mapping[str, int]) -> CheckReport:
    """The report in which violations that the baseline has are known, and fail nothing."""
    left = Counter(baseline)
    return replace(report, outcomes=[_known(outcome, left) for outcome in report.outcomes])


def _known(outcome: Outcome, left: Counter[str]) -> Outcome:
    if outcome.status is not Status.FAILED:
        return outcome
    marked = list(_marked(outcome.violations, left))
    if any(not one.is_known for one in marked):
        return replace(outcome, violations=marked)
    message = f"{outcome.message}; all are in the baseline"
    return replace(outcome, violations=marked, status=Status.PASSED, message=message)


def _marked(violations: Sequence[Violation], left: Counter[str]) -> Iterator[Violation]:
    for one in violations:
        is_known = left[one.fingerprint] > 0
        left[one.fingerprint] -= is_known
        yield replace(one, is_known=is_known)
