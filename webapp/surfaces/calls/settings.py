"""The settings of a call: what a client gives, over the model's own. Knows nothing of a family's forms."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from inference.protocol.request import SamplingParams
from webapp.models.registry.models import RegisteredModel
from webapp.models.registry.offered import chosen_row, offered
from webapp.requests import services
from webapp.requests.params import checked_params

MAX_ANSWERS = 8
_NUM_SEEDS = 2**53


def settings_of(
    model: str, given: dict[str, Any], num_answers: int = 1, may_be_empty: bool = False
) -> tuple[SamplingParams, ...]:
    """Return the settings of each answer. given: fields of SamplingParams; None stands for the model's own value.

    Without `max_tokens` an answer may fill the window. Answers differ in their seed. Raises ApiError, UnknownModel.
    """
    row = chosen_row(model)
    own = msgspec.structs.replace(services.model_entry(row).default_params, max_tokens=_window(row))
    params = msgspec.structs.replace(own, **{name: value for name, value in given.items() if value is not None})
    checked_params(params, model, may_be_empty)
    first = secrets.randbelow(_NUM_SEEDS) if params.seed is None else params.seed
    return tuple(msgspec.structs.replace(params, seed=(first + number) % _NUM_SEEDS) for number in range(num_answers))


def thinks(model: str) -> bool:
    """Return whether the model may think before its answer."""
    row = offered(model)
    found = None if row is None else services.services_of(row)
    return found is not None and found.tokenizer.thinking is not None


def _window(model: RegisteredModel) -> int:
    found = services.services_of(model)
    return SamplingParams().max_tokens if found is None else found.window
