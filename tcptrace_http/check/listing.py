"""Names for policies: detectors, metrics and presets, one per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.check.metrics import METRICS
from tcptrace_http.check.policy_file import PRESETS, preset
from tcptrace_http.detectors import DETECTORS
from tcptrace_http.remedies import remedies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["listing", "meaning", "names_listed", "policy_template", "settings"]


def listing() -> str:
    """Return all names with their meanings."""
    return "\n".join(_lines()) + "\n"


def names_listed() -> str:
    """Return the names that only policies use."""
    groups = {"Metrics of a policy": METRICS, "Presets of policies": PRESETS}
    return "\n\n".join(f"{title}\n" + "\n".join(f"  {name}" for name in names) for title, names in groups.items())


def meaning(name: str) -> str | None:
    """Return the meaning of a metric or preset; None for other names."""
    if name in METRICS:
        metric = METRICS[name]
        return (
            f"{name} (metric of a policy, {metric.unit})\n  {metric.doc}\n\nThresholds\n"
            f'  {name} = ["p(95)<...", ["max<...", "warn"]]; aggregates: avg count max med min p(N)'
        )
    if name in PRESETS:
        rules = preset(name).rules
        width = max(map(len, rules))
        lines = "\n".join(f"  {detector:<{width}}  {rule.level}" for detector, rule in rules.items())
        return f"{name} (preset of policies)\n  {PRESETS[name]}\n\nRules\n{lines}"
    return None


def settings(detector: str) -> str:
    """Return the settings that fix a detector's findings, with their sources; empty without any."""
    found = [f"  {one.words}\n    {one.source}" for one in remedies() if detector in one.detectors]
    return "\n".join(["Settings that remedy it", *found]) if found else ""


def _lines() -> Iterator[str]:
    yield from _section("rules: findings of these detectors", _detectors())
    yield ""
    metrics = {name: f"{metric.doc} ({metric.unit})" for name, metric in METRICS.items()}
    yield from _section("thresholds: aggregates (avg count max med min p(N)) of these metrics", metrics)
    yield ""
    yield from _section("presets", PRESETS)


def _section(title: str, entries: Mapping[str, str]) -> Iterator[str]:
    yield title
    width = max(map(len, entries))
    for name, meaning in entries.items():
        yield f"  {name:<{width}}  {meaning}"


def _detectors() -> dict[str, str]:
    """Return each detector with the first line of its docstring."""
    return {name: detector.doc.partition("\n")[0].rstrip(".") for name, detector in DETECTORS.items()}


def policy_template() -> str:
    """Return a policy equal to ``recommended``, with every other detector and metric as a comment."""
    from tcptrace_http.check.policy import OFF

    rules = preset("recommended").rules
    meanings = _detectors()
    width = max(map(len, meanings))
    lines = [
        "# A policy of tcptrace-http check: the allowed findings, and the limits of metrics.",
        "# tcptrace-http explain NAME describes a detector; check --list has all names.",
        "",
        'extends = "recommended"          # or strict, lan, satellite, or a file beside this one',
        'max-inconclusive = "50%"         # connections that a rule may be unable to judge',
        'cut-short = "inconclusive"       # a capture that ends inside a packet: ignored, inconclusive, failed',
        "",
        "# A level (off, warn, error), or a level with options:",
        '#   ["error", { max = 2, max-ms = "2*rtt", min-confidence = 0.8, structure = true }]',
        "# max: allowed findings; max-ms: findings with at most this loss do not count (milliseconds, or round",
        "# trips); structure: findings without a loss on this path also count.",
        "[rules]",
    ]
    for name, meaning in meanings.items():
        rule = rules.get(name, OFF)
        mark = "# " if name not in rules else ""
        level = f'"{rule.level}"'
        if rule.max_lost.ns:
            level = f"[{level}, {{ max-ms = {rule.max_lost.ns / 1e6:g} }}]"
        lines.append(f"{mark}{name} = {level}{' ' * (width - len(name))}  # {meaning}")
    lines += ["", "# Aggregates: avg count max med min p(N). A second word is the level.", "[thresholds]"]
    lines += [f'# {name} = ["p(95)<..."]  # {metric.doc} ({metric.unit})' for name, metric in METRICS.items()]
    lines += [
        "",
        "# Other rules for transactions of a host, path, port, status or method. The last fitting match",
        "# applies.",
        "# [[match]]",
        '# path = "/downloads/*"',
        '# rules = { slow-start-restart = "off" }',
        '# thresholds = { ttfb = ["p(95)<2s"] }',
    ]
    return "\n".join(lines) + "\n"
