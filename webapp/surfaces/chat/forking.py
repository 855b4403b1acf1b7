"""Forking: begins a new answer from a place in another answer. Knows nothing of JSON."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from inference.eventlog.clock import unix_us
from inference.protocol.request import SamplingParams
from inference.tokenization.gguf_metadata import TokenizerError
from inference.tokenization.template_process import TemplateError
from webapp.ground.gateway.idempotency import Key
from webapp.lifecycle.fork import CannotFork, Fork, check_length, check_room, fork_at, fork_with, parent_of
from webapp.lifecycle.fork_preparation import frames_of
from webapp.lifecycle.start import Arrival
from webapp.lifecycle.tool_flags import again
from webapp.models.registry.offered import check_offered
from webapp.requests import services
from webapp.requests.input import ForkInput, features_of
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Message
from webapp.surfaces.chat.sending import begin
from webapp.traces.file.archive import TraceFileError


@dataclass(frozen=True)
class Place:
    """The place where a fork leaves an answer: either a position or a text."""

    position: int | None
    """Number of tokens kept from the answer's beginning."""
    token_id: int | None = None
    """With a position: the next token; None: it is sampled."""
    text: str | None = None
    """Instead of a position: the new answer's first text."""
    generation: int | None = None
    """The generation in which the place is; None: the answer's last."""


def find_fork(parent: Request, place: Place, params: SamplingParams) -> Fork:
    """Return the tokens that the fork takes over. Raises CannotFork, NotOffered, RedisError."""
    if parent.is_imported:
        message = "This trace was imported and this server has not checked its prompt, so no answer can continue it."
        raise CannotFork("imported", message)
    if getattr(parent, "message", None) is None:
        raise CannotFork("no_conversation", "Its conversation was deleted, so there is no place for another answer.")
    check_offered(parent.model)
    try:
        served = services.prompt_services(parent.model)
        if place.text is not None:
            check_length(place.text, served.tokenizer, served.window, params)
        events = [event for frame in frames_of(parent) for event in frame.events]
    except TraceFileError as error:
        raise CannotFork("trace_unreadable", f"The saved trace cannot be read: {error}") from None
    except (TokenizerError, TemplateError) as error:
        raise CannotFork("model_unavailable", str(error)) from None
    found = parent_of(events, served.tokenizer, parent.model, place.generation)
    if place.text is not None:
        fork = fork_with(found, served.tokenizer, place.text)
    else:
        assert place.position is not None
        fork = fork_at(found, served.tokenizer, served.num_ids, place.position, place.token_id)
    check_room(fork, found, params)
    return replace(fork, generation=found.generation)


def start_fork(
    parent: Request, fork: Fork, params: SamplingParams, arrival: Arrival, key: Key | None = None
) -> list[Message]:
    """Begin the one new answer, a branch beside its parent's. Raises NotOffered, Refused, QueueUnavailable."""
    answer: Message = parent.message
    assert answer.parent is not None
    params = _without_demand(params) if fork.is_written else params
    request = Request(
        user_id=parent.user_id,
        key=arrival.api_key,
        surface=arrival.surface,
        model=parent.model,
        title=parent.title,
        input=ForkInput(
            parent.input.messages,
            fork.ids,
            fork.is_written,
            arrival.is_stepped,
            generation=fork.generation,
            features=again(features_of(parent.input)),
        ),
        params=msgspec.to_builtins(params),
        accepted_unix_us=unix_us(),
        forked_from=parent,
        fork_position=fork.position,
        num_kept_tokens=len(fork.ids),
    )
    return begin(answer.conversation, answer.parent, [request], [params], arrival, key)


def _without_demand(params: SamplingParams) -> SamplingParams:
    """The params of an answer that begins with a text of its user, which may be no call: none is demanded."""
    if params.tool_calls is None:
        return params
    return msgspec.structs.replace(params, tool_calls=msgspec.structs.replace(params.tool_calls, is_required=False))
