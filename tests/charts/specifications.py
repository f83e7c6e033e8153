"""What a chart's Vega-Lite says: its layers, their data, axes and tooltips."""

from __future__ import annotations

from typing import Any


def layers(chart: Any) -> list[dict[str, Any]]:
    """The layers of a valid specification: altair validates it against Vega-Lite's schema."""
    return chart.to_dict()["layer"]


def rows(chart: Any) -> list[list[dict[str, Any]]]:
    """The rows of each layer, in order."""
    whole = chart.to_dict()
    return [whole["datasets"][layer.get("data", whole.get("data"))["name"]] for layer in whole["layer"]]


def subtitle(chart: Any) -> str:
    return " ".join(chart.to_dict()["title"].get("subtitle", []))


def titles(layer: dict[str, Any]) -> list[str]:
    """What stands at the axes of quantities, and of one that has none its field."""
    encoded = [layer["encoding"][axis] for axis in ("x", "y") if axis in layer["encoding"]]
    return [axis.get("title") or axis["field"] for axis in encoded if axis["type"] == "quantitative"]


def tooltips(layer: dict[str, Any]) -> list[str]:
    return [each["field"] for each in layer["encoding"].get("tooltip", [])]
