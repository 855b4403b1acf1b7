"""Copies a recorded conversation to another time and user: its rows, traces and records of use.

Every figure comes from the recorded log, by the functions by which settling makes them. Saves nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from django.contrib.auth.models import User

from inference.protocol.events import AnyEvent, Frame, GatewayChecked, GenerationStarted, RequestAccepted
from webapp.identifiers import new_conversation_id, new_message_id, new_request_id
from webapp.lifecycle.settle import record
from webapp.models.billing.bill import saved_nano
from webapp.operations.demo.prices import PRICES
from webapp.operations.demo.recorded_conversations import (
    RecordedConversation,
    RecordedMessage,
    RecordedTrace,
    Recording,
)
from webapp.operations.demo.renaming import renamed
from webapp.requests.input import MessagesInput
from webapp.requests.models import Request
from webapp.requests.outcome import Outcome, fold
from webapp.surfaces.chat.branches import path_to
from webapp.surfaces.chat.models import Conversation, Message
from webapp.surfaces.chat.sending import messages_of
from webapp.traces import store
from webapp.usage.models import UsageRecord
from webapp.usage.record import NO_COST, Cost, use_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Copy:
    """The rows of one copied conversation, not saved yet."""

    conversation: Conversation
    messages: list[Message]
    requests: list[Request]
    traces: list[bytes]
    """Of the requests, in their order."""
    records: list[UsageRecord]

    @property
    def end(self) -> datetime:
        """The end of the last request."""
        return max(request.finished_at for request in self.requests if request.finished_at)


@dataclass(frozen=True)
class Place:
    """The place of a copy: its user, the time of its first request, and its worker."""

    user: User
    at: datetime
    worker: str


def copy_of(recording: Recording, recorded: RecordedConversation, place: Place) -> Copy:
    """Return the recorded conversation at this place."""
    traces = {request_id: recording.traces[request_id] for request_id in recorded.request_ids}
    first = min(_accepted(trace.frames).accepted_unix_us for trace in traces.values())
    later_us = round((place.at - _EPOCH) / timedelta(microseconds=1)) - first
    names = _names(recorded, traces, place)
    copy = Copy(_conversation(recorded, place), [], [], [], [])
    for message in recorded.messages:
        if message.request_id is None:
            copy.messages.append(_question(copy.conversation, message, names))
        else:
            frames = renamed(traces[message.request_id].frames, names, later_us)
            _add_answer(copy, message, traces[message.request_id].title, frames, names)
    copy.conversation.leaf_id = copy.messages[-1].pk
    copy.conversation.updated_at = copy.messages[-1].created_at
    return copy


def _accepted(frames: Sequence[Frame]) -> RequestAccepted:
    accepted = frames[0].events[0]
    assert isinstance(accepted, RequestAccepted)
    return accepted


def _names(recorded: RecordedConversation, traces: Mapping[str, RecordedTrace], place: Place) -> dict[str, str]:
    """The new name of each old one in the logs: ids, the user and the worker."""
    names = {message.id: new_message_id() for message in recorded.messages}
    names |= {f"message:{old}": f"message:{new}" for old, new in names.items()}
    names |= {request_id: new_request_id() for request_id in traces}
    for event in _events(traces.values()):
        if isinstance(event, GatewayChecked):
            names[event.principal] = f"user:{place.user.pk}"
        elif isinstance(event, GenerationStarted):
            names[event.worker] = place.worker
    return names


def _events(traces: Iterable[RecordedTrace]) -> Iterator[AnyEvent]:
    return (event for trace in traces for frame in trace.frames for event in frame.events)


def _conversation(recorded: RecordedConversation, place: Place) -> Conversation:
    return Conversation(
        id=new_conversation_id(),
        user=place.user,
        title=recorded.title,
        model=recorded.model,
        system_prompt=recorded.system_prompt,
        params=recorded.params,
        created_at=place.at,
    )


def _question(conversation: Conversation, message: RecordedMessage, names: Mapping[str, str]) -> Message:
    """The question. Its time follows with its first answer."""
    parent = names[message.parent_id] if message.parent_id else None
    return Message(
        id=names[message.id],
        conversation=conversation,
        parent_id=parent,
        role=Message.Role.USER,
        user_text=message.text,
        created_at=conversation.created_at,
    )


def _add_answer(
    copy: Copy, message: RecordedMessage, title: str, frames: list[Frame], names: Mapping[str, str]
) -> None:
    assert message.parent_id is not None
    question = next(each for each in copy.messages if each.pk == names[message.parent_id])
    request, outcome = _request(copy, question, title, frames)
    answer = Message(
        id=names[message.id],
        conversation=copy.conversation,
        parent=question,
        role=Message.Role.ASSISTANT,
        request=request,
        created_at=request.created_at,
    )
    if not any(each.parent_id == question.pk for each in copy.messages):
        # A message is made before its request is accepted. The first byte of it is the nearest time in the log.
        question.created_at = request.created_at + timedelta(microseconds=_accepted(frames).received_at)
    copy.messages.append(answer)
    copy.requests.append(request)
    copy.traces.append(store.pack(request, frames))
    use = use_of(request, outcome, _cost(request.model, outcome))
    use.is_demo = True
    copy.records.append(use)


def _request(copy: Copy, question: Message, title: str, frames: list[Frame]) -> tuple[Request, Outcome]:
    accepted, outcome = _accepted(frames), fold(frames)
    created_at = _EPOCH + timedelta(microseconds=accepted.accepted_unix_us)
    request = Request(
        id=accepted.request_id,
        user=copy.conversation.user,
        surface=accepted.surface,
        model=accepted.model,
        title=title,
        input=MessagesInput(messages_of(copy.conversation, path_to(question, copy.messages))),
        params=msgspec.to_builtins(accepted.params),
        accepted_unix_us=accepted.accepted_unix_us,
        created_at=created_at,
    )
    record(request, outcome)
    request.finished_at = created_at + timedelta(microseconds=outcome.duration_us)
    return request, outcome


def _cost(model: str, outcome: Outcome) -> Cost:
    """The cost by the bill in the log."""
    if outcome.bill is None:
        return NO_COST
    bill = outcome.bill
    return Cost(bill.total_nano, saved_nano(outcome.usage, PRICES[model]), bill.currency, bill.price_version)
