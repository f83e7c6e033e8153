"""A side that only has a name: a strategy, or ``inferred``, on what was inferred from the other side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import ScenarioError, UnknownName

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario
    from reference_sim.strategy import Strategy
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.inference import Inference

__all__ = ["INFERRED", "Modelled", "model_named", "modelled"]

#: The name of the inferred scenario as it is.
INFERRED: Final = "inferred"
_STANDARD_INPUT: Final = "-"
#: Names that are near to one that is not known.
_NEAR_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Modelled:
    """What runs in place of a capture, and what it was made of."""

    scenario: Scenario
    #: As the capture has it, before the strategy was changed.
    inference: Inference
    #: The retrieval of the capture that it retells.
    retrieval: int

    @property
    def visits(self) -> int:
        """How often the page is fetched; of several visits the last one is what the strategy is about."""
        return len(self.scenario.browsers[0].visits)


def model_named(source: object) -> str | None:
    """The name, if the source is one: a text that is no file. A file that is called like a strategy is a file.

    :raises UnknownName: the text is neither.
    """
    from tcptrace_http.difference.side import SCENARIO_SUFFIX

    if not isinstance(source, str) or source == _STANDARD_INPUT or source.endswith(SCENARIO_SUFFIX):
        return None
    if Path(source).exists():
        return None
    from reference_sim.strategies import STRATEGIES

    known = [INFERRED, *STRATEGIES]
    if source in known:
        return source
    raise UnknownName(f"{source!r} is neither a file nor a strategy{_near(source, known)}")


def modelled(name: str, analysis: Analysis, *, retrieval: int | None) -> Modelled:
    """What this name is on the path, with the hosts and the page that were inferred from a capture.

    :raises ScenarioError: nothing can be inferred, or the strategy has no place there.
    """
    from reference_sim.strategy import Protocol, named_strategy
    from tcptrace_http.inference import infer

    number = _most_transactions(analysis) if retrieval is None else retrieval
    inference = infer(analysis, retrieval=number)
    if name == INFERRED:
        return Modelled(inference.scenario, inference, number)
    strategy = named_strategy(name)
    if strategy.protocol is not Protocol.HTTP:
        raise ScenarioError(f"{name} is not HTTP: its transfers are no transactions that could be aligned")
    return Modelled(_under(inference.scenario, strategy), inference, number)


def _most_transactions(analysis: Analysis) -> int:
    """As the inference chooses where it is not told."""
    ranked = analysis.retrievals.sort("transactions", "retrieval", descending=[True, False])
    if ranked.is_empty():
        raise ScenarioError(f"{analysis.capture.path} has no retrieval from which a scenario could be inferred")
    return int(ranked["retrieval"][0])


def _under(scenario: Scenario, strategy: Strategy) -> Scenario:
    """The same page on the same path between the same hosts by another strategy.

    What the server was seen to do with its writes stays, unless the strategy is about that.
    """
    from reference_sim.scenario import Record, Writes
    from reference_sim.workloads import retrieval

    (server,), (browser,) = scenario.servers, scenario.browsers
    made = retrieval(
        strategy=strategy,
        page=browser.visits[0].page,
        network=scenario.network,
        client_stack=browser.stack,
        server_stack=server.stack,
        processing=server.processing,
        parse=browser.parse,
        record=Record(),
        seed=scenario.seed,
    )
    writes = server.writes if strategy.writes == Writes() else strategy.writes
    servers = (
        replace(it, product=server.product, min_head_bytes=server.min_head_bytes, writes=writes)
        for it in made.servers
    )
    browsers = (replace(it, min_request_bytes=browser.min_request_bytes) for it in made.browsers)
    return replace(made, servers=tuple(servers), browsers=tuple(browsers), taps=scenario.taps)


def _near(name: str, known: list[str]) -> str:
    """What may have been meant: files beside it, and strategies."""
    path = Path(name)
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    files = [str(path.with_name(each)) for each in get_close_matches(path.name, beside, n=_NEAR_MAX)]
    names = get_close_matches(name, known, n=_NEAR_MAX)
    told = [f"the {kind} {each!r}" for kind, many in (("file", files), ("strategy", names)) for each in many]
    return f"; did you mean {' or '.join(told)}?" if told else f" (strategies are: {', '.join(known)})"
