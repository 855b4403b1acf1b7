"""The chat page's JSON API: conversations and messages."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from redis.exceptions import RedisError

from inference.eventlog.clock import unix_us
from inference.protocol.events import ClientTiming
from inference.protocol.request import SamplingParams
from webapp.api.requests import find
from webapp.api.view import api
from webapp.chat import sending
from webapp.chat.delivery import Key
from webapp.chat.forking import Place, find_fork, start_fork
from webapp.chat.models import MAX_ANSWERS, Conversation, Message
from webapp.gateway.body import checked_text, checked_timing, read_body
from webapp.gateway.errors import ApiError, all_of, not_found, user_id
from webapp.gateway.timing import ServerTiming
from webapp.lifecycle.start import Arrival
from webapp.lifecycle.stop import stop
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.outcome import fold
from webapp.requests.params import checked_params, window_notes
from webapp.traces import store

_MAX_LISTED = 500
_KEY = re.compile(r"[\x21-\x7e]{1,128}")
_NUM_SEEDS = 2**53
"""JavaScript holds integers up to this exactly."""


class NewConversation(msgspec.Struct, forbid_unknown_fields=True):
    """The settings of a new conversation. A field that is left out takes its value from the model's entry.

    `params` are taken as a whole: fields missing in given `params` have the neutral values of SamplingParams.
    """

    model: str | None = None
    system_prompt: str = msgspec.field(default_factory=lambda: services.model_entry().default_system_prompt)
    params: SamplingParams = msgspec.field(default_factory=lambda: services.model_entry().default_params)
    n: int = 1


class ConversationChange(msgspec.Struct, forbid_unknown_fields=True):
    title: str | None = None
    system_prompt: str | None = None
    params: SamplingParams | None = None
    n: int | None = None
    leaf_id: str | None = None
    is_pinned: bool | None = None


class NewMessage(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    parent_id: str | None = None
    params: SamplingParams | None = None
    n: int | None = None
    params_each: tuple[SamplingParams, ...] | None = None
    """Each answer's own settings, so that the answers can race; replaces params and n."""
    client: ClientTiming | None = None
    is_stepped: bool = False


class NewFork(msgspec.Struct, forbid_unknown_fields=True):
    position: int | None = None
    token_id: int | None = None
    text: str | None = None
    params: SamplingParams | None = None
    client: ClientTiming | None = None
    is_stepped: bool = False


class Regeneration(msgspec.Struct, forbid_unknown_fields=True):
    params: SamplingParams | None = None
    n: int | None = None
    client: ClientTiming | None = None
    is_stepped: bool = False


@api("GET", "POST")
def conversations(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _create(request)
    rows = Conversation.objects.filter(user_id=user_id(request))
    if words := request.GET.get("q", ""):
        rows = rows.filter(Q(title__icontains=words) | Q(pk__in=_saying(user_id(request), words)))
    # A conversation whose first message was refused has nothing to show, not even a title.
    open_requests = Request.objects.filter(message__conversation=OuterRef("pk"), finished_at=None)
    rows = rows.annotate(is_streaming=Exists(open_requests))
    rows = rows.exclude(leaf_id="", title="").order_by("-is_pinned", "-updated_at")[:_MAX_LISTED]
    return JsonResponse({"conversations": [_summary(row) for row in rows]})


def _summary(row: Conversation) -> dict[str, Any]:
    is_streaming: bool = row.is_streaming  # type: ignore[attr-defined]  # annotated by conversations()
    return {
        "id": row.pk,
        "title": row.title,
        "updated_at": row.updated_at.isoformat(),
        "is_pinned": row.is_pinned,
        "is_streaming": is_streaming,
    }


def _saying(owner: int, words: str) -> QuerySet[Message, str]:
    """Ids of the owner's conversations with these words in a question or an answer."""
    said = Q(user_text__icontains=words) | Q(request__output_text__icontains=words)
    said |= Q(imported_text__icontains=words)
    return Message.objects.filter(said, conversation__user_id=owner).values_list("conversation_id", flat=True)


def _create(request: HttpRequest) -> HttpResponse:
    conversation = new_conversation(user_id(request), read_body(request, NewConversation))
    conversation.save()
    return JsonResponse(_as_json(conversation), status=201)


def new_conversation(owner: int, body: NewConversation) -> Conversation:
    """Return a conversation that is not saved yet. Raises ApiError."""
    model = body.model or settings.ENVIRONMENT.model_name
    if model != settings.ENVIRONMENT.model_name:
        message = f"There is no model {model!r}; use {settings.ENVIRONMENT.model_name!r}."
        raise ApiError(404, "unknown_model", message, "model")
    check_settings(body)
    return Conversation(
        user_id=owner,
        model=model,
        system_prompt=_checked_prompt(body.system_prompt),
        params=msgspec.to_builtins(body.params),
        n=body.n,
    )


@api("POST")
def check(request: HttpRequest) -> HttpResponse:
    """Check a new conversation's settings and return notes on their limits in this window; saves nothing."""
    body = read_body(request, NewConversation)
    check_settings(body)
    return JsonResponse({"notes": window_notes(body.params)})


def check_settings(body: NewConversation) -> None:
    """Check all settings. Raises ApiError, which names every invalid one."""
    errors: list[ApiError] = []
    checks: list[Callable[[], object]] = [
        lambda: _checked_prompt(body.system_prompt),
        lambda: checked_params(body.params),
        lambda: _checked_n(body.n),
    ]
    for each in checks:
        try:
            each()
        except ApiError as error:
            errors.append(error)
    if errors:
        raise all_of(errors)


@api("GET", "PATCH", "DELETE")
def conversation(request: HttpRequest, conversation_id: str) -> HttpResponse:
    found = find_conversation(request, conversation_id)
    if request.method == "DELETE":
        _stop_answers(found)
        with transaction.atomic():
            store.delete_untraced(found.pk)
            found.delete()
        return HttpResponse(status=204)
    if request.method == "PATCH":
        _change(found, read_body(request, ConversationChange))
    return JsonResponse(_as_json(found))


def _stop_answers(found: Conversation) -> None:
    for running in Request.objects.filter(message__conversation=found, finished_at=None):
        stop(running)


def _change(found: Conversation, body: ConversationChange) -> None:
    if body.title is not None:
        found.title = " ".join(body.title.replace("\x00", "").split())[:200]
    if body.system_prompt is not None:
        found.system_prompt = _checked_prompt(body.system_prompt)
    if body.params is not None:
        found.params = msgspec.to_builtins(checked_params(body.params))
    if body.n is not None:
        found.n = _checked_n(body.n)
    if body.leaf_id is not None:
        if not found.messages.filter(pk=body.leaf_id).exists():
            raise not_found("message")
        found.leaf_id = body.leaf_id
    if body.is_pinned is not None:
        found.is_pinned = body.is_pinned
    # Other fields stay untouched: a message may be sent at the same moment.
    found.save(update_fields=[name for name in body.__struct_fields__ if getattr(body, name) is not None])


@api("POST")
def messages(request: HttpRequest, conversation_id: str) -> HttpResponse:
    timing = ServerTiming(request)
    body = read_body(request, NewMessage)
    found = find_conversation(request, conversation_id)
    text = checked_text(body.text)
    params = _params_each(body) or _params(found, body.params, _num_answers(body, found))
    parent = None
    if body.parent_id is not None:
        parent = found.messages.filter(pk=body.parent_id).first()
        if parent is None:
            raise not_found("message")
    arrival = _arrival(request, timing, checked_timing(body.client), body.is_stepped)
    timing.mark("validate")
    sent = sending.send(found, parent, text, params, arrival, _key(request, found, body))
    timing.mark("start")
    response = _started({"user_message": sent.user_message.as_json(), "title": found.title}, sent.answers, timing)
    if sent.is_repeat:
        response["Idempotent-Replayed"] = "true"
    return response


def _key(request: HttpRequest, found: Conversation, body: NewMessage) -> Key | None:
    """Return the message's idempotency key. Its digest leaves out the browser's timing, which differs in a retry."""
    text = request.headers.get("Idempotency-Key")
    if text is None:
        return None
    if not _KEY.fullmatch(text):
        raise ApiError(400, "invalid", "The Idempotency-Key must have 1 to 128 visible ASCII characters.")
    asked = msgspec.json.encode([found.pk, msgspec.structs.replace(body, client=None)])
    return Key(user_id(request), text, hashlib.sha256(asked).hexdigest())


@api("POST")
def regenerate(request: HttpRequest, message_id: str) -> HttpResponse:
    timing = ServerTiming(request)
    body = read_body(request, Regeneration)
    answer = Message.objects.filter(
        pk=message_id, conversation__user_id=user_id(request), role=Message.Role.ASSISTANT, parent__isnull=False
    ).first()
    if answer is None:
        raise not_found("answer")
    params = _params(answer.conversation, body.params, _num_answers(body, answer.conversation))
    arrival = _arrival(request, timing, checked_timing(body.client), body.is_stepped)
    timing.mark("validate")
    answers = sending.regenerate(answer, params, arrival)
    timing.mark("start")
    return _started({}, answers, timing)


@api("POST")
def fork(request: HttpRequest, request_id: str) -> HttpResponse:
    """Fork an answer: begin another answer to the same message with the first one's beginning."""
    timing = ServerTiming(request)
    body = read_body(request, NewFork)
    parent = find(request, request_id)
    params = _fork_params(parent, body.params)
    arrival = _arrival(request, timing, checked_timing(body.client), body.is_stepped)
    made = find_fork(parent, _place(body), params)
    timing.mark("validate")
    answer = start_fork(parent, made, params, arrival)
    timing.mark("start")
    return _started({}, [answer], timing)


def _place(body: NewFork) -> Place:
    if (body.position is None) == (body.text is None):
        raise ApiError(400, "invalid", "Give either a position or the text that the answer begins with.", "position")
    if body.text is None:
        return Place(body.position, body.token_id)
    if body.token_id is not None:
        raise ApiError(400, "invalid", "token_id goes with a position, not with a text.", "token_id")
    return Place(None, text=checked_text(body.text))


def _fork_params(parent: Request, given: SamplingParams | None) -> SamplingParams:
    """The given params; without them the parent's, its seed included: the same token then gives the same answer."""
    if given is None:
        return msgspec.convert(parent.params or {}, SamplingParams)
    return msgspec.structs.replace(checked_params(given), seed=_seeds(given.seed, 1)[0])


def _started(rows: dict[str, Any], answers: list[Message], timing: ServerTiming) -> HttpResponse:
    first, *siblings = [answer.as_json() for answer in answers]
    rows |= {"assistant_message": first, "siblings": siblings}
    times = {"received_unix_us": timing.received_unix_us, "responded_unix_us": unix_us()}
    return timing.apply(JsonResponse(rows | times, status=201))


def _arrival(request: HttpRequest, timing: ServerTiming, client: ClientTiming | None, is_stepped: bool) -> Arrival:
    return Arrival(
        received_unix_us=timing.received_unix_us,
        surface="chat",
        client=client,
        http_version=getattr(request, "scope", {}).get("http_version"),
        is_stepped=is_stepped,
    )


def _num_answers(body: NewMessage | Regeneration, found: Conversation) -> int:
    """The number of answers to begin; step mode allows only one. Raises ApiError."""
    if body.is_stepped and (body.n or 1) > 1:
        raise ApiError(400, "invalid", "n must be 1 in step mode.", "n")
    return 1 if body.is_stepped else found.n if body.n is None else _checked_n(body.n)


def _params(found: Conversation, given: SamplingParams | None, n: int) -> list[SamplingParams]:
    """Each answer's params, which differ in the seed."""
    params = checked_params(given) if given is not None else msgspec.convert(found.params, SamplingParams)
    seeds = _seeds(params.seed, n)
    return [msgspec.structs.replace(params, seed=seed) for seed in seeds]


def _params_each(body: NewMessage) -> list[SamplingParams] | None:
    """Each answer's own params, with a seed drawn where none is given; None without `params_each`."""
    if body.params_each is None:
        return None
    if body.params is not None or body.n is not None or body.is_stepped:
        message = "params_each replaces params and n, and does not work in step mode."
        raise ApiError(400, "invalid", message, "params_each")
    if not 1 <= len(body.params_each) <= MAX_ANSWERS:
        raise ApiError(400, "invalid", f"params_each must have 1 to {MAX_ANSWERS} settings.", "params_each")
    given = [checked_params(each) for each in body.params_each]
    return [msgspec.structs.replace(each, seed=_seeds(each.seed, 1)[0]) for each in given]


def _seeds(first: int | None, n: int) -> list[int]:
    if first is None:
        return [secrets.randbelow(_NUM_SEEDS) for _ in range(n)]
    return [(first + answer) % _NUM_SEEDS for answer in range(n)]


def _checked_n(n: int) -> int:
    if not 1 <= n <= MAX_ANSWERS:
        raise ApiError(400, "invalid", f"n must be between 1 and {MAX_ANSWERS}.", "n")
    return n


def _checked_prompt(text: str) -> str:
    return checked_text(text, "system prompt", "system_prompt") if text.strip() else ""


def find_conversation(request: HttpRequest, conversation_id: str) -> Conversation:
    try:
        return Conversation.objects.get(pk=conversation_id, user_id=user_id(request))
    except Conversation.DoesNotExist:
        raise not_found("conversation") from None


def _as_json(found: Conversation) -> dict[str, Any]:
    return {
        "id": found.pk,
        "title": found.title,
        "model": found.model,
        "system_prompt": found.system_prompt,
        "params": found.params,
        "n": found.n,
        "leaf_id": found.leaf_id,
        "created_at": found.created_at.isoformat(),
        "updated_at": found.updated_at.isoformat(),
        "is_pinned": found.is_pinned,
        "messages": [message.as_json() | _so_far(message) for message in found.tree()],
    }


def _so_far(message: Message) -> dict[str, str]:
    """The text released so far of a running answer, so that a page opened now begins with it."""
    request = message.request
    if request is None or request.is_settled:
        return {}
    try:
        return {"text": fold(services.event_log().read(request.pk)).text}
    except RedisError:
        return {}  # the text comes with the events
