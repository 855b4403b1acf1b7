"""A message's checks at the gateway, without sending it."""

from __future__ import annotations

from inference.protocol.events import Limit
from inference.protocol.request import SamplingParams
from webapp.ground.gateway.body import checked_text
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.structs import Body, Result
from webapp.ground.gateway.timing import ServerTiming
from webapp.lifecycle.admission import TooManyOpen, concurrency_limits
from webapp.models.registry.offered import default_id
from webapp.requests.models import MAX_IN_FLIGHT
from webapp.requests.params import checked_params
from webapp.surfaces.chat.models import MAX_ANSWERS


class Rehearsal(Body):
    """A message, and the assumed number of its sender's open requests."""

    text: str
    params: SamplingParams = SamplingParams()
    n: int = 1
    num_open: int = 0
    """Requests of the same user that are assumed to be open."""


class Limits(Result):
    """Each answer's concurrency limit."""

    limits: list[Limit]


def rehearsed(body: Rehearsal, timing: ServerTiming) -> Limits:
    """Return each answer's concurrency limit. Raises ApiError, as sending the message would."""
    checked_text(body.text)
    checked_params(body.params, default_id())
    if not (1 <= body.n <= MAX_ANSWERS and 0 <= body.num_open <= MAX_IN_FLIGHT):
        raise ApiError(400, "invalid", f"n must be 1 to {MAX_ANSWERS}, num_open 0 to {MAX_IN_FLIGHT}.", "n")
    timing.mark("validate")
    try:
        return Limits(limits=concurrency_limits(MAX_IN_FLIGHT - body.num_open, body.n))
    except TooManyOpen as error:
        raise ApiError.of(error) from None
