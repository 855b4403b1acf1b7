"""Step mode's JSON API: take the proposed token, take another, or let the answer run on."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse, JsonResponse

from inference.protocol.events import Frame, GenerationFinished, RequestCancelled, TokenProposed, TokenSampled
from inference.protocol.request import StepCommand
from webapp.api.requests import find
from webapp.api.view import api
from webapp.gateway.body import read_body
from webapp.gateway.errors import ApiError
from webapp.requests import services
from webapp.requests.input import is_stepped

_MAX_TOKENS = 1_000_000


@api("POST")
def step(request: HttpRequest, request_id: str) -> HttpResponse:
    """Send a command to the worker, which ignores it if the token was taken meanwhile."""
    command = read_body(request, StepCommand)
    found = find(request, request_id)
    if command.num_tokens is not None and not 0 <= command.num_tokens <= _MAX_TOKENS:
        message = f"num_tokens must be from 0 (stop running on) to {_MAX_TOKENS}, or null for all."
        raise ApiError(400, "invalid", message, "num_tokens")
    log = services.event_log()
    is_open = is_stepped(found.input) and not found.is_settled
    last = _last_token(log.read_backwards(found.pk)) if is_open else None
    if last is None:
        raise ApiError(409, "not_stepped", "This request has no token to choose.")
    # The last two suffice: two commands to stop running on never follow each other.
    _check_new(command, log.commands(found.pk, -2))
    if command.num_tokens != 0:
        _check_choice(command, last)
    log.command(found.pk, command)
    return JsonResponse({"status": "taken"}, status=202)


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
    if command.num_tokens != 0 and any(each.num_tokens != 0 and each.position >= command.position for each in before):
        raise ApiError(409, "moved_on", "A token was already chosen at this position.", "position")


def _check_choice(command: StepCommand, last: TokenProposed | TokenSampled) -> None:
    """Check that this token can be taken now. Raises ApiError."""
    if not isinstance(last, TokenProposed) or last.token.position != command.position:
        raise ApiError(409, "moved_on", "The proposed token has changed. Look again.", "position")
    if command.token_id is None:
        return
    masked = {token for stage in last.token.stages or () for token in stage.masked}
    if command.token_id not in last.token.candidate_ids or command.token_id in masked:
        message = "token_id must be one of the candidates that the settings and the grammar allow."
        raise ApiError(400, "unknown_token", message, "token_id")
    tokenizer = services.prompt_services().tokenizer
    if tokenizer.is_special(command.token_id) and command.token_id not in tokenizer.eos_ids:
        raise ApiError(400, "control_token", "Only the chat template may write control tokens.", "token_id")
