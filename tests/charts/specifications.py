"""Contents of a chart's Vega-Lite specification: layers, data, axes and tooltips."""

from __future__ import annotations

from typing import Any


def layers(chart: Any) -> list[dict[str, Any]]:
    """Return the layers of a specification, validated by altair against Vega-Lite's schema."""
    return chart.to_dict()["layer"]


def rows(chart: Any) -> list[list[dict[str, Any]]]:
    """Return the rows of each layer, in order."""
    whole = chart.to_dict()
    return [whole["datasets"][layer.get("data", whole.get("data"))["name"]] for layer in whole["layer"]]


def subtitle(chart: Any) -> str:
    return " ".join(chart.to_dict()["title"].get("subtitle", []))


def titles(layer: dict[str, Any]) -> list[str]:
    """Return the axis titles of quantities; for an axis without title, its field."""
    encoded = [layer["encoding"][axis] for axis in ("x", "y") if axis in layer["encoding"]]
    return [axis.get("title") or axis["field"] for axis in encoded if axis["type"] == "quantitative"]


def tooltips(layer: dict[str, Any]) -> list[str]:
    return [each["field"] for each in layer["encoding"].get("tooltip", [])]
