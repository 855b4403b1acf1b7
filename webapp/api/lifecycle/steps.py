"""Step mode's operation: take the proposed token, take another, or let the answer run on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from django.http import HttpRequest

from inference.protocol.events import Frame, GenerationFinished, RequestCancelled, TokenProposed, TokenSampled
from inference.protocol.request import StepCommand
from webapp.api.requests.requests import find
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Result
from webapp.requests import services
from webapp.requests.input import is_stepped

_MAX_TOKENS = 1_000_000


class Taken(Result):
    """The command is on its way to the worker, which ignores it if the token was taken meanwhile."""

    status: Literal["taken"] = "taken"


@answers(202)
def step(request: HttpRequest, request_id: str, body: StepCommand) -> Taken:
    """Take the token proposed at `position`, or the candidate `token_id`.

    `num_tokens` are taken before the next is proposed: 1 by default, null for all, 0 to stop running on.
    400 `unknown_token`, `control_token`; 409 `not_stepped`, `moved_on`.
    """
    found = find(request, request_id)
    if body.num_tokens is not None and not 0 <= body.num_tokens <= _MAX_TOKENS:
        message = f"num_tokens must be from 0 (stop running on) to {_MAX_TOKENS}, or null for all."
        raise ApiError(400, "invalid", message, "num_tokens")
    log = services.event_log()
    is_open = is_stepped(found.input) and not found.is_settled
    last = _last_token(log.read_backwards(found.pk)) if is_open else None
    if last is None:
        raise ApiError(409, "not_stepped", "This request has no token to choose.")
    # The last two suffice: two commands to stop running on never follow each other.
    _check_new(body, log.commands(found.pk, -2))
    if body.num_tokens != 0:
        _check_choice(body, last, found.model)
    log.command(found.pk, body)
    return Taken()


def _last_token(frames: Iterable[Frame]) -> TokenProposed | TokenSampled | None:
    """The newest token of the frames, which come last first; None before the first token, and after the end."""
    for event in (event for frame in frames for event in reversed(frame.events)):
        if isinstance(event, TokenProposed | TokenSampled):
            return event
        if isinstance(event, GenerationFinished | RequestCancelled):
            return None
    return None


def _check_new(command: StepCommand, before: list[StepCommand]) -> None:
    """Check that the command changes something after the earlier ones. Raises ApiError."""
    if command.num_tokens == 0 and (not before or before[-1].num_tokens == 0):
        raise ApiError(409, "moved_on", "The answer waits for your choice already.", "num_tokens")
    place = (command.generation, command.position)
    if command.num_tokens != 0 and any(
        each.num_tokens != 0 and (each.generation, each.position) >= place for each in before
    ):
        raise ApiError(409, "moved_on", "A token was already chosen at this position.", "position")


def _check_choice(command: StepCommand, last: TokenProposed | TokenSampled, model: str) -> None:
    """Check that this token can be taken now. Raises ApiError."""
    place = (command.generation, command.position)
    if not isinstance(last, TokenProposed) or (last.generation, last.token.position) != place:
        raise ApiError(409, "moved_on", "The proposed token has changed. Look again.", "position")
    if command.token_id is None:
        return
    masked = {token for effect in last.token.processors or () for token in effect.masked}
    if command.token_id not in last.token.candidate_ids or command.token_id in masked:
        message = "token_id must be one of the candidates that the settings and the grammar allow."
        raise ApiError(400, "unknown_token", message, "token_id")
    tokenizer = services.prompt_services(model).tokenizer
    if tokenizer.is_special(command.token_id) and command.token_id not in tokenizer.eos_ids:
        raise ApiError(400, "control_token", "Only the chat template may write control tokens.", "token_id")
