"""Operations that begin answers: send a message, answer it again, fork an answer."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec
from django.http import HttpRequest

from inference.eventlog.clock import unix_us
from inference.protocol.events import ClientTiming
from inference.protocol.request import SamplingParams
from inference.protocol.tool_calls import ToolCalls
from webapp.api.content.memory import notice_shown
from webapp.api.requests.requests import find
from webapp.api.surfaces.chat.attached_files import wanted
from webapp.api.surfaces.chat.conversations import checked_n, find_conversation
from webapp.api.surfaces.chat.schema import NewFork, NewMessage, Regeneration, Sent, Started
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.body import checked_text, checked_timing
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.idempotency import Key
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.timing import ServerTiming
from webapp.identity.keys.middleware import key_of
from webapp.lifecycle.start import Arrival
from webapp.requests.delivery import once
from webapp.requests.models import Request
from webapp.requests.params import checked_params
from webapp.surfaces.chat import sending
from webapp.surfaces.chat.forking import Place, find_fork, start_fork
from webapp.surfaces.chat.message_view import shown
from webapp.surfaces.chat.models import MAX_ANSWERS, Conversation, Message
from webapp.tools import catalog

_NUM_SEEDS = 2**53
"""JavaScript holds integers up to this exactly."""


@answers(201)
def send_message(
    request: HttpRequest, conversation_id: str, body: NewMessage, timing: ServerTiming, key: Key | None
) -> Answer[Sent]:
    """Send a message to the conversation's model. 409 `answer_open`, `model_unavailable`; 422 `key_reused`;
    429 `too_many_requests`, `rate_limited`, `day_used_up`, `budget_used_up`, `busy`; 403 `sending_stopped`.
    With files: 404 `not_found`; 409 `cannot_attach`, `files_too_long`.
    """
    found = find_conversation(request, conversation_id)
    text = checked_text(body.text)
    params = _params_each(found, body) or _params(found, body.params, _num_answers(body, found))
    params = [_with_tools(found, each, body.must_call) for each in params]
    parent = None
    if body.parent_id is not None:
        parent = found.messages.filter(pk=body.parent_id).first()
        if parent is None:
            raise not_found("message")
    files = wanted(found.user_id, body.attachments, body.pins)
    arrival = _arrival(request, timing, checked_timing(body.client), body.is_stepped)
    timing.mark("validate")
    done = once(key, lambda: sending.send(found, parent, text, params, arrival, key, files), sending.sent_before)
    timing.mark("start")
    sent = done.made
    result = Sent(
        user_message=shown(sent.user_message),
        title=found.title,
        memory=notice_shown(found.user_id, sent.user_message, done.is_repeat),
        **_started(sent.answers, timing),
    )
    return Answer(result, is_repeat=done.is_repeat)


@answers(201)
def regenerate(
    request: HttpRequest, message_id: str, body: Regeneration, timing: ServerTiming, key: Key | None
) -> Answer[Started]:
    """Answer the same message again. The id is that of an answer. 409 `answer_open`, `model_unavailable`.

    422 `key_reused`; 429 `too_many_requests`, `rate_limited`, `day_used_up`, `budget_used_up`, `busy`;
    403 `sending_stopped`.
    """
    answer = Message.objects.filter(
        pk=message_id, conversation__user_id=user_id(request), role=Message.Role.ASSISTANT, parent__isnull=False
    ).first()
    if answer is None:
        raise not_found("answer")
    params = _params(answer.conversation, body.params, _num_answers(body, answer.conversation))
    params = [_with_tools(answer.conversation, each, body.must_call) for each in params]
    arrival = _arrival(request, timing, checked_timing(body.client), body.is_stepped)
    timing.mark("validate")
    done = once(key, lambda: sending.regenerate(answer, params, arrival, key), sending.answers_before)
    timing.mark("start")
    return Answer(Started(**_started(done.made, timing)), is_repeat=done.is_repeat)


@answers(201)
def fork(
    request: HttpRequest, request_id: str, body: NewFork, timing: ServerTiming, key: Key | None
) -> Answer[Started]:
    """Fork an answer: begin another answer to the same message with the first one's beginning.

    400 `unknown_position`, `unknown_generation`, `unknown_token`, `ends_answer`, `control_token`, `length`, `no_ids`;
    409 `imported`, `no_conversation`, `no_prompt`, `other_model`, `model_unavailable`, `window_full`,
    `trace_unreadable`;
    422 `key_reused`; 429 `too_many_requests`, `rate_limited`, `day_used_up`, `budget_used_up`, `busy`;
    403 `sending_stopped`.
    """
    parent = find(request, request_id)
    params = _fork_params(parent, body.params)
    arrival = _arrival(request, timing, checked_timing(body.client), body.is_stepped)
    place = _place(body)
    timing.mark("validate")
    done = once(
        key,
        lambda: start_fork(parent, find_fork(parent, place, params), params, arrival, key),
        sending.answers_before,
    )
    timing.mark("start")
    return Answer(Started(**_started(done.made, timing)), is_repeat=done.is_repeat)


def _place(body: NewFork) -> Place:
    if (body.position is None) == (body.text is None):
        raise ApiError(400, "invalid", "Give either a position or the text that the answer begins with.", "position")
    if body.text is None:
        return Place(body.position, body.token_id, generation=body.generation)
    if body.token_id is not None:
        raise ApiError(400, "invalid", "token_id goes with a position, not with a text.", "token_id")
    return Place(None, text=checked_text(body.text), generation=body.generation)


def _fork_params(parent: Request, given: SamplingParams | None) -> SamplingParams:
    """The given params; without them the parent's, its seed included: the same token then gives the same answer.

    The tools are the parent's in any case: its prompt has their definitions. Raises ApiError.
    """
    own = msgspec.convert(parent.params or {}, SamplingParams)
    if given is None:
        return own
    if own.tool_calls is not None and given.regex is not None:
        raise _regex_and_tools()
    params = checked_params(msgspec.structs.replace(given, tool_calls=own.tool_calls), parent.model)
    return msgspec.structs.replace(params, seed=_seeds(given.seed, 1)[0])


def _started(begun: list[Message], timing: ServerTiming) -> dict[str, Any]:
    """The fields of Started."""
    first, *siblings = map(shown, begun)
    return {
        "assistant_message": first,
        "siblings": siblings,
        "received_unix_us": timing.received_unix_us,
        "responded_unix_us": unix_us(),
    }


def _arrival(request: HttpRequest, timing: ServerTiming, client: ClientTiming | None, is_stepped: bool) -> Arrival:
    return Arrival(
        received_unix_us=timing.received_unix_us,
        surface="chat",
        client=client,
        http_version=getattr(request, "scope", {}).get("http_version"),
        is_stepped=is_stepped,
        api_key=key_of(request),
    )


def _num_answers(body: NewMessage | Regeneration, found: Conversation) -> int:
    """The number of answers to begin; step mode allows only one. Raises ApiError."""
    if body.is_stepped and (body.n or 1) > 1:
        raise ApiError(400, "invalid", "n must be 1 in step mode.", "n")
    return 1 if body.is_stepped else found.n if body.n is None else checked_n(body.n)


def _params(found: Conversation, given: SamplingParams | None, n: int) -> list[SamplingParams]:
    """Each answer's params, which differ in the seed."""
    params = checked_params(given, found.model) if given is not None else msgspec.convert(found.params, SamplingParams)
    seeds = _seeds(params.seed, n)
    return [msgspec.structs.replace(params, seed=seed) for seed in seeds]


def _params_each(found: Conversation, body: NewMessage) -> list[SamplingParams] | None:
    """Each answer's own params, with a seed drawn where none is given; None without `params_each`."""
    if body.params_each is None:
        return None
    if body.params is not None or body.n is not None or body.is_stepped:
        message = "params_each replaces params and n, and does not work in step mode."
        raise ApiError(400, "invalid", message, "params_each")
    if not 1 <= len(body.params_each) <= MAX_ANSWERS:
        raise ApiError(400, "invalid", f"params_each must have 1 to {MAX_ANSWERS} settings.", "params_each")
    given = [checked_params(each, found.model) for each in body.params_each]
    return [msgspec.structs.replace(each, seed=_seeds(each.seed, 1)[0]) for each in given]


def _with_tools(found: Conversation, params: SamplingParams, must_call: bool) -> SamplingParams:
    """The params with the conversation's tools. Raises ApiError."""
    if params.tool_calls is not None:
        message = "params.tool_calls has no effect in a chat. Choose the conversation's tools, and must_call if needed."
        raise ApiError(400, "invalid", message, "params.tool_calls")
    definitions = catalog.definitions_of(found.tools)
    if not definitions:
        if must_call:
            raise ApiError(400, "invalid", "must_call needs a tool. Turn one on in the conversation.", "must_call")
        return params
    if params.regex is not None:
        raise _regex_and_tools()
    calls = ToolCalls(tools=definitions, is_required=must_call)
    if problem := calls.problem():
        raise ApiError(400, "invalid", f"The conversation {problem}. Turn some tools off.", "tools")
    return msgspec.structs.replace(params, tool_calls=calls)


def _regex_and_tools() -> ApiError:
    message = "An answer of a form by regex cannot call tools. Remove one of the two."
    return ApiError(400, "invalid", message, "params.regex")


def _seeds(first: int | None, n: int) -> list[int]:
    if first is None:
        return [secrets.randbelow(_NUM_SEEDS) for _ in range(n)]
    return [(first + answer) % _NUM_SEEDS for answer in range(n)]
