"""One call of an API client, and the requests that it begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from inference.eventlog.clock import unix_us
from inference.protocol.request import SamplingParams
from webapp.content.attachments.pictures import Picture
from webapp.content.attachments.store import NoRoom, keep_called
from webapp.ground.context.tools import is_result
from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.keys import check_scope
from webapp.identity.keys.models import Feature
from webapp.lifecycle.admission import Limits
from webapp.lifecycle.begin import begin as begin_requests
from webapp.lifecycle.start import Arrival
from webapp.requests.delivery import Key, once
from webapp.requests.input import Messages, MessagesInput, PlainInput, RequestInput
from webapp.requests.models import Request
from webapp.traces.recordings.turns import record

_TITLE_CHARS = 200


@dataclass(frozen=True)
class Call:
    """Everything that a client sends for its answers."""

    model: str
    messages: Messages
    params: tuple[SamplingParams, ...]
    """One for each answer."""
    may_drop: bool = False
    """The client lets the oldest turns be dropped where the prompt does not fit."""
    cache_hint: str = ""
    """The client's own word for calls that begin alike."""
    pictures: tuple[Picture, ...] = ()
    """Those that the messages name."""

    @property
    def inputs(self) -> tuple[RequestInput, ...]:
        given = MessagesInput(self.messages, is_given=True, may_drop=self.may_drop, cache_hint=self.cache_hint)
        return (given,) * len(self.params)


@dataclass(frozen=True)
class PlainCall:
    """Texts that the model goes on with, without its chat template."""

    model: str
    inputs: tuple[PlainInput, ...]
    params: tuple[SamplingParams, ...]
    """One for each input."""
    pictures: tuple[Picture, ...] = ()
    """None: it is text."""


@dataclass(frozen=True)
class Begun:
    """The requests of a call, the first answer's first."""

    requests: list[Request]
    is_repeat: bool
    """An earlier call under the same Idempotency-Key began them."""
    limits: Limits = ()
    """The state of each limit before the last of them; empty for a repeat."""


def begin(
    call: Call | PlainCall,
    user_id: int,
    arrival: Arrival,
    key: Key | None,
    feature: Feature = "chat",
    save: Callable[[Sequence[Request]], None] = lambda _requests: None,
    undo: Callable[[], None] = lambda: None,
) -> Begun:
    """Begin the requests of a call, or find those that an earlier call under its key began.

    feature: that which an API key needs. save: saves rows that hang on the requests, in the transaction that saves
    these. undo: deletes them, in the one that takes the requests back.

    Raises ApiError, OutOfScope, KeyReused, NotBegun, NotOffered, Refused, QueueUnavailable, RedisError,
    TooManyRecordings.
    """
    check_scope(arrival.api_key, feature, call.model)
    if call.pictures:
        arrival = replace(arrival, sent=None)  # no log has a picture's bytes

    limits: list[Limits] = []

    def rows(requests: Sequence[Request]) -> None:
        save(requests)
        _keep(call.pictures, user_id, call.model)
        if arrival.recording is not None:
            record(arrival.recording, requests)

    def work() -> list[Request]:
        requests = [_request(call, *each, user_id, arrival) for each in zip(call.inputs, call.params, strict=True)]
        limits.extend(begin_requests(requests, call.params, arrival, key, save=lambda: rows(requests), undo=undo))
        return requests

    done = once(key, work, _found)
    return Begun(done.made, done.is_repeat, limits[-1] if limits else ())


def _keep(pictures: Sequence[Picture], user_id: int, model: str) -> None:
    """Raises ApiError."""
    try:
        if pictures:
            keep_called(user_id, pictures, model)
    except NoRoom as full:
        raise ApiError(429, full.code, str(full), retry_after_s=60) from None


def _found(ids: list[str]) -> list[Request] | None:
    found = Request.objects.defer("input").in_bulk(ids)
    return [found[each] for each in ids] if len(found) == len(ids) else None


def _request(
    call: Call | PlainCall, given: RequestInput, params: SamplingParams, user_id: int, arrival: Arrival
) -> Request:
    return Request(
        user_id=user_id,
        key=arrival.api_key,
        batch_id=arrival.batch_id,
        surface=arrival.surface,
        model=call.model,
        title=_title(given.messages),
        input=given,
        params=msgspec.to_builtins(params),
        accepted_unix_us=unix_us(),
    )


def _title(messages: Messages) -> str:
    said = [each.content for each in messages if each.role == "user" and not is_result(each.content)]
    return title_of((said or [""])[-1])


def title_of(text: str) -> str:
    """Return the beginning of a text, in one line."""
    return " ".join(text.split())[:_TITLE_CHARS]
