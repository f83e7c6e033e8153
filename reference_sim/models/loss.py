"""Loss rates of the models."""

from __future__ import annotations

from tcptrace_http.errors import ScenarioError

__all__ = ["checked_loss"]


def checked_loss(loss: float) -> float:
    """Return the loss rate after a check.

    :raises ScenarioError: the rate is not between 0 and 1; the model is undefined there.
    """
    if not 0 < loss < 1:
        raise ScenarioError(f"a loss rate is between 0 and 1, not {loss}", field="loss")
    return loss
