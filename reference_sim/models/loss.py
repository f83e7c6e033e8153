"""Loss rates, as the models take them."""

from __future__ import annotations

from tcptrace_http.errors import ScenarioError

__all__ = ["checked_loss"]


def checked_loss(loss: float) -> float:
    """The loss rate.

    :raises ScenarioError: it is not between 0 and 1: the model has no rate then.
    """
    if not 0 < loss < 1:
        raise ScenarioError(f"a loss rate is between 0 and 1, not {loss}", field="loss")
    return loss
