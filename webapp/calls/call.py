"""One call of an API client, and the requests that it begins."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from inference.eventlog.clock import unix_us
from inference.protocol.request import SamplingParams
from webapp.keys.keys import check_scope
from webapp.keys.models import Feature
from webapp.lifecycle.begin import begin as begin_requests
from webapp.lifecycle.start import Arrival
from webapp.requests.delivery import Key, once
from webapp.requests.input import Messages, MessagesInput
from webapp.requests.models import Request

_TITLE_CHARS = 200


@dataclass(frozen=True)
class Call:
    """Everything that a client sends for its answers."""

    model: str
    messages: Messages
    params: tuple[SamplingParams, ...]
    """One for each answer."""


@dataclass(frozen=True)
class Begun:
    """The requests of a call, the first answer's first."""

    requests: list[Request]
    is_repeat: bool
    """An earlier call under the same Idempotency-Key began them."""


def begin(call: Call, user_id: int, arrival: Arrival, key: Key | None, feature: Feature = "chat") -> Begun:
    """Begin the requests of a call, or find those that an earlier call under its key began.

    feature: that which an API key needs. Raises OutOfScope, KeyReused, NotBegun, NotOffered, Refused, QueueUnavailable,
    RedisError.
    """
    check_scope(arrival.api_key, feature, call.model)
    done = once(key, lambda: _begin(call, user_id, arrival, key), _found)
    return Begun(done.made, done.is_repeat)


def _begin(call: Call, user_id: int, arrival: Arrival, key: Key | None) -> list[Request]:
    requests = [_request(call, params, user_id, arrival) for params in call.params]
    begin_requests(requests, call.params, arrival, key)
    return requests


def _found(ids: list[str]) -> list[Request] | None:
    found = Request.objects.defer("input").in_bulk(ids)
    return [found[each] for each in ids] if len(found) == len(ids) else None


def _request(call: Call, params: SamplingParams, user_id: int, arrival: Arrival) -> Request:
    return Request(
        user_id=user_id,
        key=arrival.api_key,
        surface=arrival.surface,
        model=call.model,
        title=_title(call.messages),
        input=MessagesInput(call.messages, is_given=True),
        params=msgspec.to_builtins(params),
        accepted_unix_us=unix_us(),
    )


def _title(messages: Messages) -> str:
    said = [message.content for message in messages if message.role == "user"]
    return " ".join((said or [""])[-1].split())[:_TITLE_CHARS]
