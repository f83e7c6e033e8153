"""Reader of TOML scenario files, which checks each field.

A short file names a strategy, a page and a network, as the command line does::

    strategy = "http11-pipelined"
    page = "kruse-lerc"
    network = "satellite"
    stack = "netbsd-1.2.1"
    tls = { based_on = "tls-1.3", chain_bytes = "4 kB" }    # or a name; default: cleartext

A long file has tables. A table may replace any name; ``based_on`` starts from a known entry::

    seed = 7
    duration = "60 s"
    network = "thesis"                      # or [network] with nodes and links

    [stacks.mine]
    based_on = "linux-6"
    nagle = "off"

    [pages.home]
    base = "6651 B"
    images = ["3883 B", "1866 B"]

    [[servers]]
    name = "web"
    node = "s1"
    stack = "mine"
    processing = "2 ms"
    keep_alive = { timeout = "15 s" }

    [[browsers]]
    node = "c1"
    stack = "mine"
    origin = "web"
    page = "home"
    plan = "http11-pipelined"               # a strategy, or a table of [plans]

Durations, rates and sizes are text with a unit (``30 ms``, ``1.5 Mb/s``, ``16 kB``), queues
``25 packets``, ``64 kB`` or ``unlimited``, initial windows ``3 segments``.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reference_sim.decoder import LAWS_OF_TIME, Decoder, check_keys, listed, within
from reference_sim.document import Duration, annotations_of
from reference_sim.names import named
from reference_sim.networks import NETWORKS
from reference_sim.page import Page, objects_of
from reference_sim.pages import PAGES
from reference_sim.plan import Plan, Visit
from reference_sim.quantities import bytes_of, nanoseconds
from reference_sim.scenario import Browser, Scenario, Tap
from reference_sim.stack import Stack
from reference_sim.stacks import PRESETS
from reference_sim.strategies import named_strategy
from reference_sim.tls import PRESETS as TLS_PRESETS
from reference_sim.tls import Tls
from reference_sim.topology import Link, Network, duplex
from reference_sim.workloads import retrieval, tap_at
from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

__all__ = ["parse", "read"]

_SHORT: Final = (
    "strategy",
    "page",
    "network",
    "stack",
    "server_stack",
    "tls",
    "think",
    "parse",
    "processing",
    "at",
    "seed",
)
_BITS: Final = 64
_SECURED: Final = {name: preset.tls for name, preset in TLS_PRESETS.items()}
_OF_A_SIZED_PAGE: Final = ("name", "base", "images", "host")


def read(path: str | PathLike[str]) -> Scenario:
    """Read a scenario from a TOML file.

    :raises ScenarioError: the file is unreadable or not a scenario; the message gives file, field and remedy.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(error.strerror or str(error), path=str(path)) from None
    except UnicodeDecodeError:
        raise ScenarioError("not UTF-8, which TOML requires", path=str(path)) from None
    return parse(text, path=str(path))


def parse(text: str, *, path: str = "") -> Scenario:
    """Parse a scenario from TOML text; messages name the text ``path``.

    :raises ScenarioError: the text is not a scenario; the message gives field and remedy.
    """
    try:
        document = tomllib.loads(text)
    # TOML allows thousands of digits and thousands of brackets; tomllib does not.
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"not TOML: {error}", path=path) from None
    try:
        _check_integers(document)
        return _Reader(document).scenario()
    except ScenarioError as error:
        raise error.within("", path=path) from None


def _check_integers(value: Any) -> None:
    """Raise a :class:`ScenarioError` if an integer exceeds TOML's 64 bits (TOML 1.0, Integer)."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if isinstance(part, int) and part.bit_length() > _BITS:
            raise ScenarioError(f"an integer has at most {_BITS} bits", field=str(key))
        within(str(key) if isinstance(value, dict) else f"[{key}]", _check_integers, part)


class _Reader:
    """Reader of one file; its own names take precedence over the built-in names."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._stacks = {name: preset.stack for name, preset in PRESETS.items()}
        self._pages = dict(PAGES)
        self._plans: dict[str, Plan] = {}
        self._decoder = Decoder(
            {
                Stack: lambda value: self._named(self._stacks, value, self._stack, "stack"),
                Tls: lambda value: self._named(_SECURED, value, self._tls, "TLS"),
                Page: lambda value: self._named(self._pages, value, self._page, "page"),
                Plan: lambda value: self._named(self._plans, value, self._plan, "plan"),
                Network: lambda value: self._named(NETWORKS, value, self._network, "network"),
                Browser: self._browser,
            }
        )

    def scenario(self) -> Scenario:
        self._read_names()
        rest = {key: value for key, value in self._document.items() if key not in {"stacks", "pages", "plans"}}
        if "strategy" in rest:
            return self._short(rest)
        if "network" not in rest:
            raise ScenarioError(
                f"is missing; name one ({', '.join(NETWORKS)}) or give nodes and links", field="network"
            )
        taps = within("taps", listed, rest.pop("taps", []))
        made: Scenario = self._decoder.dataclass(Scenario, rest)
        placed = (within(f"taps[{index}]", self._tap, made.network, tap) for index, tap in enumerate(taps))
        return replace(made, taps=tuple(placed))

    def _short(self, table: dict[str, Any]) -> Scenario:
        """Build a scenario from strategy, page and network, as the command line does."""
        check_keys(table, _SHORT)
        for key in ("page", "network"):
            if key not in table:
                raise ScenarioError("is missing; a file with a strategy names a page and a network", field=key)
        types = {
            "page": Page,
            "network": Network,
            "stack": Stack,
            "server_stack": Stack,
            "tls": Tls,
            "at": str,
            "seed": int,
        }
        choices = {key: within(key, self._decoder.value, types[key], table[key]) for key in types.keys() & table}
        choices["strategy"] = within("strategy", named_strategy, str(table["strategy"]))
        for key in LAWS_OF_TIME & table.keys():
            choices[key] = within(key, lambda law: self._decoder.law(law, is_time=True), table[key])
        if "parse" in table:
            choices["parse"] = within("parse", nanoseconds, table["parse"])
        if "stack" in choices:
            choices["client_stack"] = choices.pop("stack")
        return retrieval(**choices)

    def _read_names(self) -> None:
        for name, table in self._tables("stacks"):
            self._stacks[name] = within(f"stacks.{name}", self._stack, {"name": name, **table})
        for name, table in self._tables("pages"):
            self._pages[name] = within(f"pages.{name}", self._page, {"name": name, **table})
        for name, table in self._tables("plans"):
            self._plans[name] = within(f"plans.{name}", self._plan, table)

    def _tables(self, key: str) -> list[tuple[str, dict[str, Any]]]:
        table = self._document.get(key, {})
        if not isinstance(table, dict) or not all(isinstance(part, dict) for part in table.values()):
            raise ScenarioError(f"is not a table of tables: [{key}.NAME]", field=key)
        return list(table.items())

    def _named(self, known: Mapping[str, Any], value: Any, make: Any, what: str) -> Any:
        """Return the entry of this name, or decode the table written in its place."""
        return named(known, value, what=what) if isinstance(value, str) else make(value)

    def _stack(self, table: Any) -> Any:
        """Decode a stack, whole or ``based_on`` another."""
        return self._based(Stack, self._stacks, table, "stack")

    def _tls(self, table: Any) -> Any:
        """Decode TLS settings, whole or ``based_on`` a preset."""
        return self._based(Tls, _SECURED, table, "TLS")

    def _based(self, kind: type[Any], known: Mapping[str, Any], table: Any, what: str) -> Any:
        if not isinstance(table, dict) or "based_on" not in table:
            return self._decoder.dataclass(kind, table)
        old = within("based_on", lambda: named(known, str(table["based_on"]), what=what))
        return self._changed(old, {key: value for key, value in table.items() if key != "based_on"})

    def _changed(self, known: Any, table: dict[str, Any]) -> Any:
        """Return the entry with other fields; in a nested table, only the given fields change."""
        hints = annotations_of(type(known))
        check_keys(table, hints)
        changes = {}
        for key, value in table.items():
            old = getattr(known, key)
            is_part = isinstance(value, dict) and "kind" not in value and is_dataclass(old)
            if is_part:
                changes[key] = within(key, self._changed, old, value)
            else:
                changes[key] = within(key, self._decoder.value, hints[key], value, key)
        return replace(known, **changes)

    def _page(self, table: Any) -> Any:
        """Decode a page from its objects, or from the sizes of its document and images."""
        if not isinstance(table, dict) or "base" not in table:
            return self._decoder.dataclass(Page, table)
        check_keys(table, _OF_A_SIZED_PAGE)
        base = within("base", bytes_of, table["base"])
        sizes = within("images", listed, table.get("images", []))
        images = [within(f"images[{index}]", bytes_of, size) for index, size in enumerate(sizes)]
        name, host = (within(key, self._decoder.value, str, table.get(key, "page")) for key in ("name", "host"))
        page = Page(name=name, objects=objects_of(base, *images))
        return replace(page, host=host) if "host" in table else page

    def _plan(self, table: Any) -> Any:
        return self._decoder.dataclass(Plan, table)

    def _network(self, table: Any) -> Any:
        """Decode nodes and links; a ``duplex`` entry is a pair of equal links ``between`` two nodes."""
        if not isinstance(table, dict) or "duplex" not in table:
            return self._decoder.dataclass(Network, table)
        pairs = within("duplex", listed, table["duplex"])
        both = [within(f"duplex[{index}]", self._duplex, pair) for index, pair in enumerate(pairs)]
        links = within("links", self._decoder.value, tuple[Link, ...], table.get("links", []))
        rest = {key: value for key, value in table.items() if key not in {"duplex", "links"}}
        bare = self._decoder.dataclass(Network, {**rest, "links": []})
        return replace(bare, links=(*links, *(link for pair in both for link in pair)))

    def _duplex(self, table: Any) -> tuple[Link, Link]:
        ends = table.get("between") if isinstance(table, dict) else None
        if not isinstance(ends, list) or [type(end) for end in ends] != [str, str]:
            raise ScenarioError("two node names are required: between = ['a', 'b']", field="between")
        rest = {key: value for key, value in table.items() if key != "between"}
        link = self._decoder.dataclass(Link, {**rest, "start": ends[0], "end": ends[1]})
        alike = {field.name: getattr(link, field.name) for field in fields(Link)}
        del alike["start"], alike["end"]
        there, back = duplex(ends[0], ends[1], **alike)
        return there, back

    def _browser(self, table: Any) -> Any:
        """Decode a browser with ``visits``, or with ``page`` and ``plan``."""
        hints = annotations_of(Browser)
        check_keys(table, (*hints, "page", "plan"))
        if "visits" in table:
            each = enumerate(within("visits", listed, table["visits"]))
            visits = [visit for index, part in each for visit in within(f"visits[{index}]", self._listed, part)]
        else:
            visits = list(self._visits(table))
        rest = {key: value for key, value in table.items() if key not in {"page", "plan", "visits"}}
        plan = table.get("plan")
        if "http_version" not in rest and isinstance(plan, str) and plan not in self._plans:
            rest["http_version"] = named_strategy(plan).version.value
        values = {key: within(key, self._decoder.value, hints[key], value, key) for key, value in rest.items()}
        for key in ("node", "stack"):
            if key not in values:
                raise ScenarioError("is missing", field=key)
        return Browser(visits=tuple(visits), **values)

    def _listed(self, table: Any) -> tuple[Visit, ...]:
        """Decode visits, each with its pause if that differs from the browser's."""
        visits = self._visits(table)
        check_keys(table, annotations_of(Visit))
        if "think" not in table:
            return visits
        think = within("think", self._decoder.value, Duration, table["think"])
        return tuple(replace(visit, think=think) for visit in visits)

    def _visits(self, table: Any) -> tuple[Visit, ...]:
        """Decode a visit's page and plan; the plan is a strategy, a name of [plans], or a table."""
        for key in ("page", "plan"):
            if not isinstance(table, dict) or key not in table:
                raise ScenarioError("is missing; a visit needs a page and a plan", field=key)
        page = within("page", self._decoder.value, Page, table["page"])
        plan = table["plan"]
        if isinstance(plan, str) and plan not in self._plans:
            strategy = within("plan", named_strategy, plan)
            visits: tuple[Visit, ...] = within("plan", strategy.visits, page)
            return visits
        chosen = within("plan", self._decoder.value, Plan, plan)
        return (within("plan", lambda: Visit(page=page, plan=chosen)),)

    def _tap(self, network: Network, value: Any) -> Tap:
        return tap_at(network, str(value))
