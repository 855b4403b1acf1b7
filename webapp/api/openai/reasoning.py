"""OpenAI's effort of reasoning as a budget of thinking. Raises ApiError."""

from __future__ import annotations

from typing import get_args

from inference.protocol.thinking import BUDGETS, Effort
from webapp.ground.gateway.errors import ApiError
from webapp.requests import services
from webapp.surfaces.calls.settings import thinks

_USUAL: Effort = "medium"
"""OpenAI's own, where a client names none."""


def thinking_tokens(model: str, effort: str | None, field: str) -> int | None:
    """Return the setting: 0: no thinking. None: no limit, or a model that does not think. field: of the effort."""
    known = next((each for each in get_args(Effort) if each == (effort or _USUAL)), None)
    if known is None:
        words = ", ".join(map(repr, get_args(Effort)))
        raise ApiError(400, "invalid_value", f"{field} must be one of {words}.", field)
    if thinks(model):
        return None if effort is None and not services.can_end_thinking(model) else BUDGETS[known]
    if effort not in (None, "none"):
        raise ApiError(
            400, "unsupported_parameter", f"Unsupported parameter: {field!r} is not supported with this model.", field
        )
    return None
