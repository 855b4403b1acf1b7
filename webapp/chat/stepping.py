"""Step mode's JSON API: take the token that is proposed, or another, or let the answer run on."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse, JsonResponse
from redis.exceptions import RedisError

from inference.protocol.events import AnyEvent, TokenProposed, TokenSampled
from inference.protocol.request import StepCommand
from webapp.gateway.body import read_body
from webapp.gateway.errors import ApiError, api
from webapp.gateway.requests import find
from webapp.lifecycle import services

_MAX_TOKENS = 1_000_000


@api("POST")
def step(request: HttpRequest, request_id: str) -> HttpResponse:
    """The worker obeys at once, or not at all where the token was taken meanwhile."""
    command = read_body(request, StepCommand)
    found = find(request, request_id)
    if command.num_tokens is not None and not 0 <= command.num_tokens <= _MAX_TOKENS:
        message = f"num_tokens must be from 0 (stop running on) to {_MAX_TOKENS}, or null for all."
        raise ApiError(400, "invalid", message, "num_tokens")
    try:
        frames = [] if found.is_settled else services.event_log().read(found.pk)
        _check(command, [event for frame in frames for event in frame.events])
        services.event_log().command(found.pk, command)
    except RedisError:
        raise ApiError(503, "queue_unavailable", "The server's queue cannot be reached. Try again.") from None
    return JsonResponse({"status": "taken"}, status=202)


def _check(command: StepCommand, events: Iterable[AnyEvent]) -> None:
    """Raises ApiError."""
    tokens = [event for event in events if isinstance(event, TokenProposed | TokenSampled)]
    if not any(isinstance(event, TokenProposed) for event in tokens):
        raise ApiError(409, "not_stepped", "No token of this request waits to be chosen.")
    if command.num_tokens == 0:
        return
    last = tokens[-1]
    if not isinstance(last, TokenProposed) or last.token.position != command.position:
        raise ApiError(409, "moved_on", "Another token is proposed by now, or none. Look again.", "position")
    if command.token_id is None:
        return
    masked = {token for stage in last.token.stages or () for token in stage.masked}
    if command.token_id not in last.token.candidate_ids or command.token_id in masked:
        message = "token_id must be one of the candidates that no stage has removed for good."
        raise ApiError(400, "unknown_token", message, "token_id")
    tokenizer = services.prompt_services().tokenizer
    if tokenizer.is_special(command.token_id) and command.token_id not in tokenizer.eos_ids:
        raise ApiError(400, "control_token", "Control tokens come from the chat template alone.", "token_id")
