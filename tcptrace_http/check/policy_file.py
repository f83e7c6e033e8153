"""Policy files: TOML files, and the presets of the package.

::

    extends = "recommended"              # a preset, or a file beside this one
    max-inconclusive = "10%"             # connections that a rule may be unable to judge
    cut-short = "inconclusive"           # a capture that ends inside a packet; or "ignored", or "failed"

    [rules]
    short-initial-segment = "error"
    slow-start-restart = ["warn", { max-ms = "2*rtt" }]
    duplicate-object = "off"
    "*" = "warn"                         # every detector not named here

    [thresholds]
    ttfb = ["p(95)<200ms"]
    stall_share = ["p(95)<5%", ["max<20%", "warn"]]

    [[match]]                            # other rules for some of the transactions
    path = "/downloads/*"
    rules = { slow-start-restart = "off" }
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tcptrace_http.check.metrics import METRICS
from tcptrace_http.check.notation import lost_limit, share, threshold
from tcptrace_http.check.policy import NO_POLICY, CutShort, Level, Match, Policy, Rule, Threshold
from tcptrace_http.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["PRESETS", "load_policy", "parse_policy", "preset"]

_T = TypeVar("_T")
#: Presets of the package, with their purposes.
PRESETS: Final = {
    "recommended": "certain losses: stalls of TCP with HTTP fail, other losses are warnings",
    "strict": "every finding fails, including structure without a cost",
    "lan": "for captures on loopback or a LAN: short round trips hide the cost on a WAN, so segments count",
    "satellite": "for long round trips: lost round trips fail, single milliseconds do not",
}
_LEVELS: Final = {"off": Level.OFF, "warn": Level.WARNING, "warning": Level.WARNING, "error": Level.ERROR}
#: Name for every detector that the same table does not name.
_ANY: Final = "*"
_TOP: Final = ("extends", "max-inconclusive", "cut-short", "rules", "thresholds", "match")
_RULE_OPTIONS: Final = ("max", "max-ms", "min-confidence", "structure")
_TRAITS: Final = ("host", "path", "port", "status", "method")
#: Position of a fault in a message of tomllib.
_AT: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")
_PORT_MAX: Final = 65535
_STATUS: Final = re.compile(r"[1-5](?:xx|\d\d)")


def preset(name: str) -> Policy:
    """Return a preset of the package.

    :raises PolicyError: no preset has this name.
    """
    if name not in PRESETS:
        raise PolicyError(_unknown("preset", name, PRESETS))
    return parse_policy(_preset_text(name), path=f"preset {name}")


def _preset_text(name: str) -> str:
    return files(__package__).joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")


def load_policy(path: str | Path) -> Policy:
    """Return the policy of a file.

    :raises PolicyError: the policy is invalid; the message has file, line and the nearest valid name.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise PolicyError(error.strerror or str(error), path=str(path)) from None
    except UnicodeDecodeError as error:
        raise PolicyError(f"not UTF-8 (byte {error.start})", path=str(path)) from None
    return parse_policy(text, path=str(path))


def parse_policy(text: str, *, path: str = "") -> Policy:
    """Return the policy of a TOML text; ``path`` is its file, for messages and ``extends``.

    :raises PolicyError: the policy is invalid; the message has file, line and the nearest valid name.
    """
    return _parsed(text, path, ())


def _parsed(text: str, path: str, extending: tuple[str, ...], base: Policy = NO_POLICY) -> Policy:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"no TOML: {_AT.sub('', str(error))}", path=path, line=_line_of(error, text)) from None
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits, or deeply nested lists.
        raise PolicyError(f"no TOML that can be read: {error}", path=path) from None
    try:
        return _Reader(path, (*extending, path)).policy(document, base)
    except _Fault as fault:
        raise PolicyError(fault.what, path=path, line=_line(text, fault.keys)) from None


class _Fault(Exception):
    """Fault of a document, with the keys from its top to the place."""

    def __init__(self, what: str, *keys: str | int) -> None:
        super().__init__(what)
        self.what = what
        self.keys = keys


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reader of a policy document; ``extending`` has the files that led here, this file last."""

    path: str
    extending: tuple[str, ...]

    def policy(self, document: Mapping[str, Any], base: Policy) -> Policy:
        """Return the document's policy over ``base``."""
        _known(document, _TOP, "key")
        made = base
        for name in _texts(document.get("extends", []), "extends"):
            made = self._extended(name, made)
        own = Policy(
            rules=_rules(_table(document, "rules"), "rules"),
            thresholds=tuple(_thresholds(_table(document, "thresholds"), "thresholds")),
            matches=tuple(_matches(document.get("match", []))),
            max_inconclusive=_share(document, made.max_inconclusive),
            cut_short=_cut_short(document, made.cut_short),
        )
        return _over(made, own)

    def _extended(self, name: str, base: Policy) -> Policy:
        if name in PRESETS:
            return _parsed(_preset_text(name), f"preset {name}", self.extending, base)
        path = Path(self.path).parent / name
        try:
            if not path.is_file():
                raise _Fault(_unknown("preset or file", name, PRESETS), "extends")
            if any(Path(other).exists() and path.samefile(other) for other in self.extending):
                raise _Fault(f"{name!r} extends itself", "extends")
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise _Fault(f"{name!r} is not UTF-8", "extends") from None
        except OSError as error:
            raise _Fault(f"{name!r}: {error.strerror}", "extends") from None
        return _parsed(text, str(path), self.extending, base)


def _over(base: Policy, own: Policy) -> Policy:
    """Return the base with the policy's own values; thresholds of a metric replace those of the base."""
    named = {one.metric for one in own.thresholds}
    kept = tuple(one for one in base.thresholds if one.metric not in named)
    return replace(
        own,
        rules={**base.rules, **own.rules},
        thresholds=kept + own.thresholds,
        matches=base.matches + own.matches,
    )


def _rules(table: Mapping[str, Any], *keys: str | int) -> dict[str, Rule]:
    from tcptrace_http.detectors import DETECTORS

    known = {*DETECTORS, _ANY}
    for name in table:
        if name not in known:
            raise _Fault(_unknown("detector", name, known), *keys, name)
    made = {name: _rule(value, *keys, name) for name, value in table.items()}
    other = made.pop(_ANY, None)
    return made if other is None else {**dict.fromkeys(DETECTORS, other), **made}


def _rule(value: object, *keys: str | int) -> Rule:
    match value:
        case str(word):
            return Rule(level=_level(word, *keys))
        case [str(word), dict(options)]:
            _known(options, _RULE_OPTIONS, "option", *keys)
            return Rule(level=_level(word, *keys), **dict(_options(options, *keys)))
        case [str(word)]:
            return Rule(level=_level(word, *keys))
    raise _Fault('a rule is a level, or a level and options: ["warn", {max = 2}]', *keys)


def _options(options: Mapping[str, Any], *keys: str | int) -> Iterator[tuple[str, Any]]:
    """Yield the options of a rule as arguments of :class:`Rule`."""
    if "max" in options:
        if type(options["max"]) is not int or options["max"] < 0:
            raise _Fault("max is how many findings are allowed: 0 or more", *keys, "max")
        yield "max", options["max"]
    if "max-ms" in options:
        limit = options["max-ms"]
        if isinstance(limit, bool) or not isinstance(limit, (int, float, str)):
            raise _Fault("max-ms is a number of milliseconds, or text such as 2*rtt", *keys, "max-ms")
        yield "max_lost", _noted(lambda: lost_limit(limit), *keys, "max-ms")
    if "min-confidence" in options:
        yield "min_confidence", _noted(lambda: share(options["min-confidence"]), *keys, "min-confidence")
    if "structure" in options:
        if type(options["structure"]) is not bool:
            raise _Fault("structure is true or false", *keys, "structure")
        yield "structure", options["structure"]


def _thresholds(table: Mapping[str, Any], *keys: str | int) -> Iterator[Threshold]:
    for name, value in table.items():
        if name not in METRICS:
            raise _Fault(_unknown("metric", name, METRICS), *keys, name)
        # A list that ends in a level is one threshold with its level.
        is_one = isinstance(value, str) or (isinstance(value, list) and _ends_in_level(value))
        for one in [value] if is_one else _list(value, *keys, name):
            match one:
                case str(text):
                    level = Level.ERROR
                case [str(text), str(word)]:
                    level = _level(word, *keys, name)
                case _:
                    raise _Fault('a threshold is text, or text and a level: ["p(95)<200ms", "warn"]', *keys, name)
            yield _noted(partial(threshold, METRICS[name], text, level=level), *keys, name)


def _ends_in_level(value: list[Any]) -> bool:
    match value:
        case [str(), str(word)]:
            return word in _LEVELS
    return False


def _matches(value: object) -> Iterator[Match]:
    for index, table in enumerate(_list(value, "match")):
        keys = ("match", index)
        if not isinstance(table, dict):
            raise _Fault("each match is a table: [[match]]", *keys)
        _known(table, (*_TRAITS, "rules", "thresholds"), "key", *keys)
        if not set(table).intersection(_TRAITS):
            raise _Fault(f"a match says at least one of {', '.join(_TRAITS)}", *keys)
        host, path = (_text(table, name, *keys) for name in ("host", "path"))
        yield Match(
            host=None if host is None else host.lower(),
            path=path,
            ports=tuple(_ports(table.get("port", []), *keys, "port")),
            statuses=tuple(_statuses(table.get("status", []), *keys, "status")),
            methods=tuple(_texts(table.get("method", []), *keys, "method")),
            rules=_rules(_table(table, "rules", *keys), *keys, "rules"),
            thresholds=tuple(_thresholds(_table(table, "thresholds", *keys), *keys, "thresholds")),
        )


def _ports(value: object, *keys: str | int) -> Iterator[int]:
    for port in value if isinstance(value, list) else [value]:
        if type(port) is not int or not 0 <= port <= _PORT_MAX:
            raise _Fault(f"{port!r} is no port", *keys)
        yield port


def _statuses(value: object, *keys: str | int) -> Iterator[str]:
    for status in value if isinstance(value, list) else [value]:
        if isinstance(status, bool) or not _STATUS.fullmatch(str(status)):
            raise _Fault(f'{status!r} is no status; write 404 or "5xx"', *keys)
        yield str(status)


def _level(word: str, *keys: str | int) -> Level:
    if word not in _LEVELS:
        raise _Fault(_unknown("level", word, _LEVELS), *keys)
    return _LEVELS[word]


def _share(document: Mapping[str, Any], otherwise: float) -> float:
    if "max-inconclusive" not in document:
        return otherwise
    return _noted(lambda: share(document["max-inconclusive"]), "max-inconclusive")


def _cut_short(document: Mapping[str, Any], otherwise: CutShort) -> CutShort:
    word = document.get("cut-short", otherwise)
    if word not in list(CutShort):
        raise _Fault(_unknown("answer to a capture cut short", str(word), list(CutShort)), "cut-short")
    return CutShort(word)


def _noted(read: Callable[[], _T], *keys: str | int) -> _T:
    """Return the result of ``read``, and add the place to a fault."""
    try:
        return read()
    except PolicyError as error:
        raise _Fault(error.what, *keys) from None
    except TypeError:
        raise _Fault("a number or text is expected", *keys) from None


def _table(document: Mapping[str, Any], name: str, *keys: str | int) -> Mapping[str, Any]:
    value = document.get(name, {})
    if not isinstance(value, dict):
        raise _Fault(f"{name} is a table", *keys, name)
    return value


def _list(value: object, *keys: str | int) -> list[Any]:
    if not isinstance(value, list):
        raise _Fault("a list is expected", *keys)
    return value


def _text(table: Mapping[str, Any], name: str, *keys: str | int) -> str | None:
    value = table.get(name)
    if value is not None and not isinstance(value, str):
        raise _Fault(f"{name} is text", *keys, name)
    return value


def _texts(value: object, *keys: str | int) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, str):
            raise _Fault(f"{one!r} is no text", *keys)
        yield one


def _known(table: Mapping[str, Any], names: Iterable[str], what: str, *keys: str | int) -> None:
    for name in table:
        if name not in names:
            raise _Fault(_unknown(what, name, names), *keys, name)


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, sorted(known), n=1)
    hint = f"; did you mean '{near[0]}'?" if near else f" (there is {', '.join(sorted(known))})"
    return f"there is no {what} {name!r}{hint}"


def _line_of(error: tomllib.TOMLDecodeError, text: str) -> int:
    """Return the line in tomllib's message."""
    at = _AT.search(str(error))
    return int(at[1]) if at is not None and at[1] is not None else text.count("\n") + 1


def _line(text: str, keys: tuple[str | int, ...]) -> int | None:
    """Return the line of the last locatable key: the TOML reader keeps no lines.

    The search for each key starts at the line of the previous key.
    """
    lines = text.split("\n")
    found: int | None = None
    start = 0
    for key, after in zip(keys, (*keys[1:], None), strict=True):
        if isinstance(key, int):
            continue
        count = after + 1 if isinstance(after, int) else 1
        pattern = re.compile(rf"""(?:^|[\[.,{{\s])["']?{re.escape(key)}["']?\s*(?:[=\]]|\.)""")
        at = [number for number in range(start, len(lines)) if pattern.search(_without_comment(lines[number]))]
        if len(at) >= count:
            found = start = at[count - 1]
    return None if found is None else found + 1


def _without_comment(line: str) -> str:
    """Return the line without its comment; a # in quotes would need a TOML reader, and no key has one."""
    return line.partition("#")[0]
