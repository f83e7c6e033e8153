"""Server knobs that show only if they made a difference: Nagle's algorithm, slow-start restart.

Each value is run. If all runs are alike, the retrieval had no short segment to hold, or no idle period before
a large response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.stack import IdleRestart, Nagle
from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.synthesis import nearest_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference_sim.scenario import Scenario
    from reference_sim.stack import Stack
    from tcptrace_http.inference.observed import Observed

__all__ = ["KNOBS", "NO_NAGLE", "knob"]

#: Server names that set TCP_NODELAY by default: nginx (tcp_nodelay, on for persistent connections), Apache
#: httpd and lighttpd (on the listening socket).
NO_NAGLE: Final = ("nginx", "Apache", "lighttpd")

#: Stack field, its values, and the reason why a capture may not show them.
KNOBS: Final[dict[str, tuple[tuple[Nagle | IdleRestart, ...], str]]] = {
    "nagle": (
        (Nagle.BSD, Nagle.STRICT, Nagle.MINSHALL, Nagle.OFF),
        "no short segment was ready while data was unacknowledged",
    ),
    "idle_restart": (
        (IdleRestart.KEEP, IdleRestart.RESET, IdleRestart.DECAY),
        "no large response came on a connection after an idle period of a timeout",
    ),
}


def knob(
    observed: Observed,
    name: str,
    servers: Sequence[Stack],
    scenario_of: Callable[[Stack, Nagle | IdleRestart], Scenario],
) -> Figure:
    """Return the knob value with the run nearest to the capture, or the preset's if the runs are alike.

    ``servers`` are the chosen stack and the stacks that the capture does not distinguish from it. A value
    that explains the capture with one of them is not excluded.
    """
    values, why_not = KNOBS[name]
    own = getattr(servers[0], name)
    ordered = [own, *(value for value in values if value is not own)]
    pairs = [(server, value) for server in servers for value in ordered]
    match = nearest_run(observed, pairs, lambda pair: scenario_of(*pair))
    title = f"server.{name}"
    alike = dict.fromkeys(value for _, value in (match.best, *match.alike))
    if len(alike) == len(ordered):
        return _by_default(title, own, observed, why_not)
    if not match.is_conclusive:
        off = f"the nearest run is {100 * match.off:.1f} % of the page time off"
        return _by_default(title, own, observed, f"no run reproduces the capture ({off})")
    best, *others = alike
    return seen(
        title,
        str(best.value),
        confidence=match.confidence,
        frames=[exchange.response_frame for exchange in observed.exchanges],
        how=f"of {match.candidates} runs with its values the nearest: "
        f"packets {100 * match.off:.3f} % of the page time off",
        alternatives=tuple(str(value.value) for value in others),
    )


def _by_default(title: str, own: Nagle | IdleRestart, observed: Observed, reason: str) -> Figure:
    """Assume the default of the server's program, or that of its stack's preset."""
    program = next((each for each in NO_NAGLE if observed.server_software.startswith(each)), None)
    if isinstance(own, Nagle) and program is not None:
        return assumed(title, str(Nagle.OFF.value), reason=f"{reason}: as {program} is configured by default")
    return assumed(title, str(own.value), reason=f"{reason}: as the preset")
