"""Catalogue of strategies, pages, networks, stacks and TLS presets, listed and explained by name."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from reference_sim.document import annotations_of, quantity_of
from reference_sim.networks import NETWORKS
from reference_sim.page import Constant, expected
from reference_sim.pages import PAGES
from reference_sim.quantities import nanoseconds, rate_text, size_text, time_text
from reference_sim.settings import Setting
from reference_sim.stacks import PRESETS, knobs_of
from reference_sim.strategies import STRATEGIES
from reference_sim.tls import PRESETS as TLS_PRESETS
from reference_sim.tls import Tls
from reference_sim.topology import ByteQueue, CodelQueue, PacketQueue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_sim.page import Object, Page
    from reference_sim.preset import Preset
    from reference_sim.strategy import Strategy
    from reference_sim.topology import Link, Network

__all__ = ["KINDS", "Entry", "entries", "explain"]


#: Integer settings in nanoseconds.
_TIMES_OF_SETTINGS: Final = frozenset({"think", "processing", "parse", "connection_cost"})


@dataclass(frozen=True, slots=True)
class Entry:
    """Named entry of the catalogue."""

    kind: str
    name: str
    about: str
    source: str


#: Kinds of entries, and the title of each kind's list.
KINDS: Final[Mapping[str, str]] = {
    "strategy": "Strategies",
    "page": "Pages",
    "network": "Networks",
    "stack": "TCP stacks",
    "tls": "TLS",
}


def entries() -> Iterator[Entry]:
    """List every name, grouped by kind."""
    for kind, table in (("strategy", STRATEGIES), ("page", PAGES), ("network", NETWORKS)):
        for name, known in table.items():
            yield Entry(kind, name, known.about, known.source)
    for name, preset in PRESETS.items():
        yield Entry("stack", name, preset.about, preset.source["*"])
    for name, secured in TLS_PRESETS.items():
        yield Entry("tls", name, secured.about, secured.source)


def explain(name: str) -> str | None:
    """Return the meaning of a name, None if the name is unknown."""
    found = [_strategy(STRATEGIES[name])] if name in STRATEGIES else []
    found += [_page(PAGES[name])] if name in PAGES else []
    found += [_network(NETWORKS[name])] if name in NETWORKS else []
    found += [_stack(PRESETS[name])] if name in PRESETS else []
    found += [_tls(name)] if name in TLS_PRESETS else []
    return "\n\n".join(found) or None


def _strategy(strategy: Strategy) -> str:
    """List the choices of a strategy that differ from the defaults."""
    choices = [
        (field.name, _shown(getattr(strategy, field.name)))
        for field in fields(strategy)
        if field.name not in {"name", "about", "source", "setting"} and _is_chosen(strategy, field.name)
    ]
    rows = choices or [("(all choices)", "as HTTP/1.0 serial")]
    text = _text(f"{strategy.name} (strategy)", strategy.about, strategy.source, "Choices", _aligned(rows))
    return text if strategy.setting is None else f"{text}\n\n{_setting(strategy.setting)}"


def _setting(setting: Setting) -> str:
    """Describe the paper's setting of a strategy."""
    plain = Setting(source="", page="", network="", client_stack="")
    rows = [
        (field.name, _of_setting(field.name, getattr(setting, field.name)))
        for field in fields(setting)
        if field.name not in {"source", "hosts"} and getattr(setting, field.name) != getattr(plain, field.name)
    ]
    rows += [
        (field.name, _of_setting(field.name, getattr(setting.hosts, field.name)))
        for field in fields(setting.hosts)
        if getattr(setting.hosts, field.name) != getattr(plain.hosts, field.name)
    ]
    return f"Simulated by name with\n  ({setting.source})\n{_aligned(rows)}"


def _of_setting(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(time_text(more) for more in value)
    return time_text(value) if name in _TIMES_OF_SETTINGS else _shown(value)


def _is_chosen(strategy: Strategy, name: str) -> bool:
    plain = STRATEGIES["http10-serial"]
    return name in {"version", "connections", "persistent"} or getattr(strategy, name) != getattr(plain, name)


def _page(page: Page) -> str:
    rows = [
        (
            part.target,
            f"{part.content_type:<26}{'' if isinstance(part.size, Constant) else 'about '}{_bytes(part)}",
        )
        for part in page.objects
    ]
    head = f"{len(page.objects)} objects, {size_text(round(page.bytes))}"
    return _text(f"{page.name} (page)", page.about, page.source, head, _aligned(rows))


def _bytes(part: Object) -> str:
    is_drawn = not isinstance(part.size, Constant)
    return f"{'about ' * is_drawn}{round(expected(part.size))} B"


def _network(network: Network) -> str:
    rows = [(link.title, _link(link)) for link in network.links]
    return _text(f"{network.name} (network)", network.about, network.source, "Links", _aligned(rows))


def _link(link: Link) -> str:
    match link.queue:
        case PacketQueue():
            queue = f"{link.queue.limit} packets"
        case ByteQueue():
            queue = size_text(link.queue.limit)
        case CodelQueue():
            queue = f"CoDel{' with ECN' * link.queue.marks}, {link.queue.limit} packets"
        case _:
            queue = "unlimited queue"
    losses = "".join(f", {_shown(loss)}" for loss in link.loss)
    return f"{rate_text(link.rate)}, {time_text(nanoseconds(link.delay))}, {queue}{losses}"


def _stack(preset: Preset) -> str:
    width = max(len(name) for name, _, _ in knobs_of(preset))
    rows: list[str] = []
    for name, value, source in knobs_of(preset):
        rows += [f"  {name:<{width}}  {_knob(preset.stack, name, value)}", f"  {'':<{width}}    {source}"]
    return _text(f"{preset.stack.name} (TCP stack)", preset.about, preset.source["*"], "Knobs", "\n".join(rows))


def _tls(name: str) -> str:
    preset = TLS_PRESETS[name]
    rows = [(field.name, _knob(preset.tls, field.name, getattr(preset.tls, field.name))) for field in fields(Tls)]
    return _text(f"{name} (TLS)", preset.about, preset.source, "Choices", _aligned(rows))


def _knob(owner: Any, name: str, value: Any) -> str:
    """Format a value in the units of its field."""
    quantity = quantity_of(annotations_of(type(owner))[name])
    if isinstance(value, (int, timedelta)) and not isinstance(value, bool) and quantity is not None:
        return time_text(nanoseconds(value)) if quantity.value == "_ns" else size_text(int(value))  # type: ignore[arg-type]
    return _shown(value)


def _shown(value: Any) -> str:
    """Format a value for display."""
    if value is None:
        return "none"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(part)}" for key, part in value.items())
    if is_dataclass(value) and not isinstance(value, type):
        parts = (f"{field.name} {_knob(value, field.name, getattr(value, field.name))}" for field in fields(value))
        return " ".join(filter(None, [getattr(type(value), "kind", ""), ", ".join(parts)]))
    return value.__name__.strip("_") if callable(value) else str(value)


def _aligned(rows: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in rows)


def _text(head: str, about: str, source: str, title: str, rows: str) -> str:
    from_where = f"\n\nSource\n  {source}" if source else ""
    return f"{head}\n  {about}{from_where}\n\n{title}\n{rows}"
