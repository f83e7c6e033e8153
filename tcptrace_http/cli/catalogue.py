"""Parts of simulations, as lists for the command line."""

from __future__ import annotations

from typing import Any

__all__ = ["as_json", "as_text", "names_listed"]


def names_listed() -> str:
    """Return the names by kind, as ``explain`` lists them."""
    from reference_sim import catalogue

    known = list(catalogue.entries())
    return "\n\n".join(
        "\n".join([f"{title} of simulations", *(f"  {entry.name}" for entry in known if entry.kind == kind)])
        for kind, title in catalogue.KINDS.items()
    )


def as_text() -> str:
    """Return one table per kind, with names and descriptions."""
    from reference_sim import catalogue

    known = list(catalogue.entries())
    width = max(len(entry.name) for entry in known)
    return "\n\n".join(
        "\n".join([title, *(f"  {entry.name:<{width}}  {entry.about}" for entry in known if entry.kind == kind)])
        for kind, title in catalogue.KINDS.items()
    )


def as_json() -> str:
    """Return one object with the entries by kind: name, description and source."""
    import json

    from reference_sim import catalogue

    known = list(catalogue.entries())
    listed: dict[str, list[dict[str, Any]]] = {
        title.lower().replace(" ", "_"): [
            {"name": entry.name, "about": entry.about, "source": entry.source}
            for entry in known
            if entry.kind == kind
        ]
        for kind, title in catalogue.KINDS.items()
    }
    return json.dumps(listed, indent=2, ensure_ascii=False)
