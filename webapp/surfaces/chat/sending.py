"""Sending: turns a message into started requests. Knows nothing of JSON."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
from django.utils import timezone

from inference.eventlog.clock import unix_us
from inference.protocol.events import MemoryRecalled, RequestAccepted, SegmentKind
from inference.protocol.request import KeptTTL, SamplingParams
from webapp.content.memory.memories import mark_used
from webapp.content.memory.recall import recall
from webapp.ground.context import memory
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.context.tools import definitions_part, result
from webapp.ground.gateway.idempotency import Key
from webapp.ground.gateway.refusal import Refusal
from webapp.identity.keys.keys import check_scope
from webapp.lifecycle import begin as lifecycle
from webapp.lifecycle.start import Arrival
from webapp.requests import services
from webapp.requests.input import Messages, MessagesInput
from webapp.requests.models import Request
from webapp.requests.rounds import ATTACHMENTS, MEMORY, NO_SPECULATION, flags_of
from webapp.surfaces.chat.attaching import NOTHING, Wanted, attach, selected_for, with_files, with_pictures
from webapp.surfaces.chat.branches import open_answer, path_to, without_blocked
from webapp.surfaces.chat.models import Conversation, Message, Summary, WindowPolicy
from webapp.surfaces.chat.summaries import FEATURE, after, covered_by, part_of, summary_of
from webapp.tools import catalog

_TTL: KeptTTL = "5m"
"""Time for which a chat's beginning is kept after its last use: a reader answers within minutes, or much later."""
_TITLE_CHARS = 60
_REQUEST_TITLE_CHARS = 200


class AnswerOpen(Refusal):
    """An answer that the prompt would contain is still being made."""

    code = "answer_open"
    words = "The answer before this message is not complete. Wait for its end or stop it, then send."


@dataclass(frozen=True)
class Sent:
    """The rows that a send made."""

    user_message: Message
    answers: list[Message]
    """The first is shown; the others are branches beside it."""


def send(
    conversation: Conversation,
    parent: Message | None,
    text: str,
    params: list[SamplingParams],
    arrival: Arrival,
    key: Key | None = None,
    wanted: Wanted = NOTHING,
) -> Sent:
    """Append a user message and start an answer for each of params.

    Raises AnswerOpen, CannotAttach, FilesTooLong, NotOffered, Refused, QueueUnavailable.
    """
    question = Message(conversation=conversation, parent=parent, role=Message.Role.USER, user_text=text)
    return Sent(question, _answer(conversation, question, params, arrival, key, wanted))


def sent_before(ids: list[str]) -> Sent | None:
    """The question and the answers with these ids as they are now, once all answers have begun."""
    question = Message.objects.filter(pk=ids[0]).first()
    found = answers_before(ids[1:])
    return Sent(question, found) if question is not None and found is not None else None


def answers_before(ids: list[str]) -> list[Message] | None:
    """The answers with these ids as they are now, once all have begun."""
    found = Message.objects.select_related("request").defer("request__input").in_bulk(ids)
    is_begun = len(found) == len(ids) and all(_has_begun(answer) for answer in found.values())
    return [found[each] for each in ids] if is_begun else None


def _has_begun(answer: Message) -> bool:
    """True once the answer's request has begun. An answer that could not be started is taken back, not its request."""
    request = answer.request
    if request is None or request.is_settled:  # None: the trace was deleted
        return True
    frames = services.event_log().read(request.pk)
    return bool(frames) and isinstance(frames[0].events[0], RequestAccepted)


def regenerate(
    answer: Message, params: list[SamplingParams], arrival: Arrival, key: Key | None = None
) -> list[Message]:
    """Answer the same question again, as siblings, once for each of params.

    Raises AnswerOpen, NotOffered, Refused, QueueUnavailable.
    """
    assert answer.parent is not None
    return _answer(answer.conversation, answer.parent, params, arrival, key)


def _answer(
    conversation: Conversation,
    question: Message,
    params: list[SamplingParams],
    arrival: Arrival,
    key: Key | None = None,
    wanted: Wanted = NOTHING,
) -> list[Message]:
    source = input_for(conversation, question, arrival.is_stepped, wanted)
    requests = [_request(conversation, question, source, each, arrival) for each in params]
    answers = begin(conversation, question, requests, params, arrival, key, wanted)
    if source.recalled is not None:
        mark_used(conversation.user_id, [each.id for each in source.recalled.items])
    return answers


def begin(
    conversation: Conversation,
    question: Message,
    requests: list[Request],
    params: list[SamplingParams],
    arrival: Arrival,
    key: Key | None = None,
    wanted: Wanted = NOTHING,
) -> list[Message]:
    """Save the requests and the messages that will show their answers, then start the requests.
    Raises NotOffered, OutOfScope, Refused, QueueUnavailable, RedisError. Under a key it is called by `once`.

    All requests are of one model. A new question is saved with them. Reads come before the write lock.
    """
    role = Message.Role.ASSISTANT
    answers = [Message(conversation=conversation, parent=question, role=role, request=each) for each in requests]
    created = [question, *answers] if question._state.adding else answers
    undo = _Undo(conversation.leaf_id, conversation.title, answers[0], created)
    conversation.leaf_id, conversation.updated_at = answers[0].pk, timezone.now()
    conversation.title = conversation.title or _beginning(question.user_text, _TITLE_CHARS)

    def save() -> None:
        Message.objects.bulk_create(created)
        attach(question, wanted.files)
        conversation.save(update_fields=["leaf_id", "title", "updated_at"])

    check_scope(arrival.api_key, "chat", conversation.model)
    lifecycle.begin(requests, params, arrival, key, [message.pk for message in created], save, undo.run)
    return answers


def _request(
    conversation: Conversation, question: Message, source: MessagesInput, params: SamplingParams, arrival: Arrival
) -> Request:
    return Request(
        user_id=conversation.user_id,
        key=arrival.api_key,
        surface=arrival.surface,
        model=conversation.model,
        title=_beginning(question.user_text, _REQUEST_TITLE_CHARS),
        input=source,
        params=msgspec.to_builtins(params),
        accepted_unix_us=unix_us(),
    )


def _flags(conversation: Conversation) -> tuple[str, ...]:
    tools = catalog.usable(conversation.tools)
    with_approval = [each.definition.name for each in tools if each.needs_approval]
    return flags_of([each.definition.name for each in tools], with_approval)


def _beginning(text: str, num_chars: int) -> str:
    """A title: the text's first words, with an ellipsis where more follow."""
    whole = " ".join(text.split())
    if len(whole) <= num_chars:
        return whole
    kept, _, _ = whole[:num_chars].rpartition(" ")
    return f"{kept or whole[: num_chars - 1]}…"


def input_for(
    conversation: Conversation, question: Message, is_stepped: bool = False, wanted: Wanted = NOTHING
) -> MessagesInput:
    """Return all that the model gets to read: the branch that ends in the question, by the conversation's policy.

    Raises AnswerOpen, CannotAttach, FilesTooLong.
    """
    path = path_to(question, conversation.tree() if question.parent_id else [])
    if open_answer(path) is not None:
        raise AnswerOpen
    summary, recalled = summary_of(conversation, path), _recalled_for(conversation, question)
    files = selected_for(conversation, without_blocked(path), wanted)
    texts = kept(with_files(messages_of(conversation, path, recalled, summary), files.messages))
    messages = with_pictures(texts, path, wanted)
    flags = (
        (MEMORY, recalled),
        (FEATURE, summary),
        (ATTACHMENTS, files.event or len(messages) > len(texts)),
        (NO_SPECULATION, not conversation.speculation),
    )
    return MessagesInput(
        messages,
        is_stepped,
        features=(*_flags(conversation), *(flag for flag, part in flags if part)),
        recalled=recalled,
        selected=files.event,
        is_keeping=conversation.window_policy == WindowPolicy.KEEP,
        summarised=covered_by(summary),
    )


def _recalled_for(conversation: Conversation, question: Message) -> MemoryRecalled | None:
    """The memories that the question is about, and those of the prompt before. None: memory is off here, or empty."""
    if not conversation.memory:
        return None
    request = question.parent.request if question.parent else None
    return recall(conversation.user_id, question.user_text, memory.ids_in(request.input.messages) if request else ())


def messages_of(
    conversation: Conversation,
    path: list[Message],
    recalled: MemoryRecalled | None = None,
    summary: Summary | None = None,
) -> Messages:
    """Return the system prompt, the tools' definitions, the memories, and this branch, whose answers have ended.

    summary: stands for the branch's beginning.
    """
    found: list[SourceMessage] = []
    if conversation.system_prompt:
        found.append(SourceMessage("system", conversation.system_prompt, "conversation:system", "system"))
    if tools := catalog.definitions_of(conversation.tools):
        found.append(definitions_part(tools, bool(found)))
    if recalled and recalled.items:
        found.append(memory.part([(each.id, each.text) for each in recalled.items], bool(found)))
    if summary is not None:
        found.append(part_of(summary, is_first=not found))
    rest = after(summary, without_blocked(path))
    return *found, *(part for each in rest for part in said(each, is_new=each is path[-1]))


def said(message: Message, is_new: bool = False) -> list[SourceMessage]:
    """The message as the model reads it: an answer that called tools as its rounds, with their results."""
    rounds = message.request.rounds if message.role == Message.Role.ASSISTANT and message.request else None
    found: list[SourceMessage] = []
    for number, each in enumerate(rounds or ()):
        source = f"{message.source}:{number}"
        results = "\n".join(result(call["result"]) for call in each["calls"])
        found.append(SourceMessage("assistant", each["text"], source, "history"))
        found.append(SourceMessage("user", results, f"{source}:results", "result"))
    last = message.request.last_text if message.request and rounds else message.text
    kind: SegmentKind = "user" if is_new else "history"
    return [*found, SourceMessage(message.role, last, message.source, kind)] if last else found


def kept(messages: Messages) -> Messages:
    """The messages with breakpoints after the system prompt and after the history: the next message begins with both.

    The answers' blocks are in the cache already, so only texts that are new to it are written at a price.
    """
    num_system = next((at for at, each in enumerate(messages) if each.role != "system"), len(messages))
    marked = {end for end in (num_system - 1, len(messages) - 2) if 0 <= end < len(messages) - 1}
    return tuple(replace(each, breakpoint=_TTL) if at in marked else each for at, each in enumerate(messages))


@dataclass(frozen=True)
class _Undo:
    """Restores a conversation after a send that failed: it shows no answer that will never come, and all others."""

    leaf_before: str
    title_before: str
    shown: Message
    created: list[Message]

    def run(self) -> None:
        conversation = Conversation.objects.filter(pk=self.shown.conversation_id, leaf_id=self.shown.pk)
        conversation.update(leaf_id=self.leaf_before, title=self.title_before)
        Message.objects.filter(pk__in=[message.pk for message in self.created]).delete()
