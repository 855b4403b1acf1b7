"""Operations on conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import msgspec
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from redis.exceptions import RedisError

from inference.protocol.request import SamplingParams
from webapp.api.surfaces.chat.schema import (
    Conversation,
    ConversationChange,
    ConversationList,
    ConversationQuery,
    ConversationSummary,
    NewConversation,
    SettingsNotes,
    WindowPolicy,
)
from webapp.ground.gateway.body import checked_text
from webapp.ground.gateway.errors import ApiError, all_of, not_found, user_id
from webapp.ground.gateway.operation import answers
from webapp.lifecycle.stop import stop
from webapp.models.registry.offered import chosen, find
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.outcome import fold
from webapp.requests.params import checked_params, window_notes
from webapp.surfaces.chat import models
from webapp.surfaces.chat.message_view import shown
from webapp.surfaces.chat.models import MAX_ANSWERS
from webapp.surfaces.chat.search import saying
from webapp.surfaces.chat.shown_summary import shown_summary
from webapp.tools.catalog import offered
from webapp.traces import store
from webapp.usage.limits.window import is_within

_MAX_LISTED = 500
_MAX_CHECKS, _WINDOW_S = 40, 10


def list_conversations(request: HttpRequest, query: ConversationQuery) -> ConversationList:
    """List the user's conversations."""
    rows = models.Conversation.objects.filter(user_id=user_id(request))
    if words := query.q:
        said_in = saying(user_id(request), words).values_list("conversation_id", flat=True)
        rows = rows.filter(Q(title__icontains=words) | Q(pk__in=said_in))
    # A conversation whose first message was refused has nothing to show, not even a title.
    open_requests = Request.objects.filter(message__conversation=OuterRef("pk"), finished_at=None)
    rows = rows.annotate(is_streaming=Exists(open_requests))
    rows = rows.exclude(leaf_id="", title="").order_by("-is_pinned", "-updated_at")[:_MAX_LISTED]
    return ConversationList(conversations=[_summary(row) for row in rows])


def _summary(row: models.Conversation) -> ConversationSummary:
    is_streaming: bool = row.is_streaming  # type: ignore[attr-defined]  # annotated by list_conversations()
    return ConversationSummary(
        id=row.pk,
        title=row.title,
        updated_at=row.updated_at,
        is_pinned=row.is_pinned,
        is_streaming=is_streaming,
    )


@answers(201)
def create_conversation(request: HttpRequest, body: NewConversation) -> Conversation:
    """Begin a conversation. 404 `unknown_model`."""
    conversation = new_conversation(user_id(request), body)
    conversation.save()
    return _shown(conversation)


def new_conversation(owner: int, body: NewConversation) -> models.Conversation:
    """Return a conversation that is not saved yet. Raises ApiError, UnknownModel."""
    wanted, usual = check_settings(body), models.NewChats.of(owner)
    return models.Conversation(
        user_id=owner,
        model=wanted.model,
        system_prompt=_checked_prompt(wanted.system_prompt),
        params=msgspec.to_builtins(wanted.params),
        n=body.n,
        tools=usual.tools if body.tools is None else list(checked_tools(body.tools, usual.tools)),
        memory=usual.memory if body.memory is None else body.memory,
        speculation=usual.speculation if body.speculation is None else body.speculation,
        window_policy=body.window_policy,
    )


def check_conversation(request: HttpRequest, body: NewConversation) -> SettingsNotes:
    """Check settings without saving them: notes on their limits, or the 400 that a message with them would get.

    404 `unknown_model`; 429 `too_many`.
    """
    if not is_within("checks", user_id(request), _MAX_CHECKS, _WINDOW_S):
        message = f"At most {_MAX_CHECKS} checks of settings in {_WINDOW_S} s. Wait a moment and try again."
        raise ApiError(429, "too_many", message, retry_after_s=_WINDOW_S)
    wanted = check_settings(body)
    return SettingsNotes(notes=window_notes(wanted.params, wanted.model))


def check_settings(body: NewConversation) -> Settings:
    """Check the settings of a new conversation and return them. Raises ApiError, UnknownModel."""
    wanted = Settings.of(body, chosen(body.model))
    wanted.check()
    return wanted


@dataclass(frozen=True)
class Settings:
    """The settings of a new conversation, with those of the model's entry where none are given."""

    model: str
    system_prompt: str
    params: SamplingParams
    n: int

    @classmethod
    def of(cls, body: NewConversation, model: str) -> Settings:
        row = find(model)
        assert row is not None
        entry = services.model_entry(row)
        prompt = entry.default_system_prompt if body.system_prompt is None else body.system_prompt
        return cls(model, prompt, body.params or entry.default_params, body.n)

    def check(self) -> None:
        """Check all settings. Raises ApiError, which names every invalid one."""
        errors: list[ApiError] = []
        checks: list[Callable[[], object]] = [
            lambda: _checked_prompt(self.system_prompt),
            lambda: checked_params(self.params, self.model),
            lambda: checked_n(self.n),
        ]
        for each in checks:
            try:
                each()
            except ApiError as error:
                errors.append(error)
        if errors:
            raise all_of(errors)


def show_conversation(request: HttpRequest, conversation_id: str) -> Conversation:
    """Show a conversation with all its branches."""
    return _shown(find_conversation(request, conversation_id))


def change_conversation(request: HttpRequest, conversation_id: str, body: ConversationChange) -> Conversation:
    """Change a conversation's title, model, settings, pin or shown branch. 404 `unknown_model`."""
    found = find_conversation(request, conversation_id)
    change(found, body)
    return _shown(found)


def delete_conversation(request: HttpRequest, conversation_id: str) -> None:
    """Delete a conversation. Its open answers are stopped; its saved traces stay."""
    found = find_conversation(request, conversation_id)
    _stop_answers(found)
    with transaction.atomic():
        store.delete_untraced(found.pk)
        found.delete()


def _stop_answers(found: models.Conversation) -> None:
    of_conversation = Q(message__conversation=found) | Q(summary__conversation=found)
    for running in Request.objects.filter(of_conversation, finished_at=None):
        stop(running)


def change(found: models.Conversation, body: ConversationChange) -> None:
    if body.title is not None:
        found.title = " ".join(body.title.replace("\x00", "").split())[:200]
    if body.system_prompt is not None:
        found.system_prompt = _checked_prompt(body.system_prompt)
    if body.model is not None or body.params is not None:
        found.model = found.model if body.model is None else chosen(body.model)
        params = body.params or msgspec.convert(found.params, SamplingParams)
        found.params = msgspec.to_builtins(checked_params(params, found.model))
    if body.n is not None:
        found.n = checked_n(body.n)
    if body.tools is not None:
        found.tools = list(checked_tools(body.tools, found.tools))
    if body.memory is not None:
        found.memory = body.memory
    if body.speculation is not None:
        found.speculation = body.speculation
    if body.window_policy is not None:
        found.window_policy = body.window_policy
    if body.leaf_id is not None:
        if not found.messages.filter(pk=body.leaf_id).exists():
            raise not_found("message")
        found.leaf_id = body.leaf_id
    if body.is_pinned is not None:
        found.is_pinned = body.is_pinned
    # Other fields stay untouched: a message may be sent at the same moment.
    found.save(update_fields=[name for name in body.__struct_fields__ if getattr(body, name) is not None])


def checked_tools(names: Sequence[str], before: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of the server's tools, each once. Raises ApiError.

    before: those that are on already. One of them may be offered no longer: it stays without effect.
    """
    tools = {tool.definition.name: tool for tool in offered()}
    if unknown := next((name for name in names if name not in tools and name not in before), None):
        message = f"There is no tool {unknown[:100]!r}. The tools are {', '.join(tools)}."
        raise ApiError(400, "invalid", message, "tools")
    for name in set(names) - set(before):
        if reason := tools[name].lacks():
            raise ApiError(400, "invalid", f"The tool {name} is not available on this server: {reason}.", "tools")
    return tuple(dict.fromkeys(names))


def checked_n(n: int) -> int:
    if not 1 <= n <= MAX_ANSWERS:
        raise ApiError(400, "invalid", f"n must be between 1 and {MAX_ANSWERS}.", "n")
    return n


def _checked_prompt(text: str) -> str:
    return checked_text(text, "system prompt", "system_prompt") if text.strip() else ""


def find_conversation(request: HttpRequest, conversation_id: str) -> models.Conversation:
    try:
        return models.Conversation.objects.get(pk=conversation_id, user_id=user_id(request))
    except models.Conversation.DoesNotExist:
        raise not_found("conversation") from None


def _shown(found: models.Conversation) -> Conversation:
    return Conversation(
        id=found.pk,
        title=found.title,
        model=found.model,
        system_prompt=found.system_prompt,
        params=msgspec.convert(found.params, SamplingParams),
        n=found.n,
        tools=tuple(found.tools),
        memory=found.memory,
        speculation=found.speculation,
        window_policy=cast(WindowPolicy, found.window_policy),
        leaf_id=found.leaf_id,
        created_at=found.created_at,
        updated_at=found.updated_at,
        is_pinned=found.is_pinned,
        messages=[shown(message, _so_far(message)) for message in found.tree()],
        summaries=[shown_summary(each) for each in found.summaries.select_related("request").defer("request__input")],
    )


def _so_far(message: models.Message) -> str | None:
    """The text released so far of an open answer, so that a page opened now begins with it; None: not known."""
    request = message.request
    if request is None or request.is_settled:
        return None
    try:
        return fold(services.event_log().read(request.pk)).text
    except RedisError:
        return None  # the text comes with the events
