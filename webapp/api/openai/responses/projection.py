"""A response and its numbered events as a projection of the event log. Pure: steps in, structs out.

The same events give the same numbers, however they are cut into frames: a client resumes after a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from inference.protocol.events import AnyEvent, TokenSampled
from inference.protocol.request import Usage as Tokens
from webapp.api.openai.chat_projection import Head, logprobs_of
from webapp.api.openai.responses.answer import (
    ArgumentsDelta,
    ArgumentsDone,
    CallItem,
    Error,
    Event,
    Incomplete,
    InputDetails,
    Item,
    ItemEvent,
    ItemStatus,
    Logprob,
    MessageItem,
    OutputDetails,
    OutputText,
    PartEvent,
    ReasoningDelta,
    ReasoningDone,
    ReasoningItem,
    ReasoningText,
    Response,
    ResponseEvent,
    Status,
    TextDelta,
    TextDone,
    TopLogprob,
    Usage,
)
from webapp.api.openai.responses.ids import REASONING, call_prefix, item_id
from webapp.surfaces.calls.answer import (
    AnswerReader,
    Arguments,
    Begun,
    CallBegun,
    Ended,
    Failed,
    Step,
    Text,
    Thought,
    ThoughtOver,
)

_DURING: dict[Status, str] = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "cancelled": "response.incomplete",
    "failed": "response.failed",
}
"""The last event. OpenAI's clients know none of a cancelled response: its status tells."""


class ResponseProjection:
    """One response, event by event."""

    def __init__(self, response: Response, request_id: str, num_top_logprobs: int | None) -> None:
        """response: as it begins. num_top_logprobs: None: no log-probabilities."""
        self.response = response
        self.failed: Failed | None = None
        self._request_id = request_id
        self._head = Head("", 0, "", num_top_logprobs)
        self._reader = AnswerReader()
        self._num_events = 0

    def feed(self, events: Iterable[AnyEvent]) -> list[Event]:
        """Return the response's own events that these make. `response` is then as far as they tell."""
        return [made for event in events for made in self._made(event)]

    def _made(self, event: AnyEvent) -> Iterator[Event]:
        if self._num_events == 0:
            yield self._told("response.created")
            if self.response.background:
                yield self._told("response.queued")
        for step in self._reader.feed([event]):
            yield from self._events(step, event)

    def _events(self, step: Step, event: AnyEvent) -> Iterator[Event]:
        match step:
            case Begun():
                self._set(status="in_progress")
                yield self._told("response.in_progress")
            case Thought(text):
                yield from self._think(text)
            case ThoughtOver():
                yield from self._close("completed")
            case Text(text, tokens):
                yield from self._text(text, self._logprobs(tokens))
            case CallBegun(index, name):
                yield from self._call(index, name)
            case Arguments(_, text):
                yield from self._arguments(text)
            case Ended():
                yield from self._ended(step, event.at)
            case Failed():
                yield from self._failed(step)

    def _text(self, text: str, logprobs: tuple[Logprob, ...]) -> Iterator[Event]:
        if not isinstance(self._open, MessageItem):
            yield from self._message()
        message = self._open
        assert isinstance(message, MessageItem)
        before = message.content[0]
        part = OutputText(before.text + text, before.logprobs + logprobs)
        self._replace(msgspec.structs.replace(message, content=(part,)))
        yield TextDelta(
            type="response.output_text.delta", content_index=0, delta=text, logprobs=logprobs, **self._place(message)
        )

    def _think(self, text: str) -> Iterator[Event]:
        if not isinstance(self._open, ReasoningItem):
            yield from self._close("completed")
            yield from self._add(ReasoningItem(item_id(REASONING, self._request_id, 0), "in_progress"))
            yield from self._add_part(ReasoningText(""))
        item = self._open
        assert isinstance(item, ReasoningItem)
        self._replace(msgspec.structs.replace(item, content=(ReasoningText(item.content[0].text + text),)))
        yield ReasoningDelta(type="response.reasoning_text.delta", content_index=0, delta=text, **self._place(item))

    def _add_part(self, part: ReasoningText) -> Iterator[Event]:
        item = self._open
        assert isinstance(item, ReasoningItem)
        self._replace(msgspec.structs.replace(item, content=(part,)))
        yield PartEvent(type="response.content_part.added", content_index=0, part=part, **self._place(item))

    def _next_id(self, kind: str) -> str:
        """The id of an item that is no reasoning."""
        return item_id(
            kind, self._request_id, sum(not isinstance(each, ReasoningItem) for each in self.response.output)
        )

    def _message(self) -> Iterator[Event]:
        yield from self._close("completed")
        message = MessageItem(self._next_id("msg"), "in_progress", ())
        yield from self._add(message)
        part = OutputText("")
        self._replace(msgspec.structs.replace(message, content=(part,)))
        yield PartEvent(type="response.content_part.added", content_index=0, part=part, **self._place(message))

    def _call(self, index: int, name: str) -> Iterator[Event]:
        yield from self._close("completed")
        call_id = f"{call_prefix(self._request_id)}_{index}"
        yield from self._add(CallItem(self._next_id("fc"), "in_progress", call_id, name, ""))

    def _arguments(self, text: str) -> Iterator[Event]:
        call = self._open
        assert isinstance(call, CallItem)
        self._replace(msgspec.structs.replace(call, arguments=call.arguments + text))
        yield ArgumentsDelta(type="response.function_call_arguments.delta", delta=text, **self._place(call))

    def _ended(self, step: Ended, at: int) -> Iterator[Event]:
        status, incomplete = _status(step)
        has_said = any(not isinstance(each, ReasoningItem) for each in self.response.output)
        if not has_said and status == "completed":
            yield from self._message()
        yield from self._close("completed" if status == "completed" else "incomplete")
        usage = usage_of(step.usage, step.num_thinking_tokens)
        completed_at = (self.response.created_at * 1_000_000 + at) // 1_000_000 if status == "completed" else None
        self._set(status=status, incomplete_details=incomplete, usage=usage, completed_at=completed_at)
        yield self._told(_DURING[status])

    def _failed(self, step: Failed) -> Iterator[Event]:
        yield from self._close("incomplete")
        if step.code == "blocked":
            self._set(status="incomplete", incomplete_details=Incomplete("content_filter"), usage=usage_of(Tokens()))
        elif step.code == "cancelled":
            self._set(status="cancelled", usage=usage_of(Tokens()))
        else:
            self.failed = step
            self._set(status="failed", error=Error(_ERRORS.get(step.code, "server_error"), step.message))
        yield self._told(_DURING[self.response.status])

    def _close(self, status: ItemStatus) -> Iterator[Event]:
        """End the open item."""
        item = self._open
        if item is None:
            return
        if isinstance(item, MessageItem):
            part = item.content[0]
            place: dict[str, Any] = self._place(item) | {"content_index": 0}
            yield TextDone(type="response.output_text.done", text=part.text, logprobs=part.logprobs, **place)
            yield PartEvent(type="response.content_part.done", part=part, **self._place(item), content_index=0)
        elif isinstance(item, ReasoningItem):
            thought = item.content[0]
            kind = "response.reasoning_text.done"
            yield ReasoningDone(type=kind, text=thought.text, content_index=0, **self._place(item))
            yield PartEvent(type="response.content_part.done", part=thought, **self._place(item), content_index=0)
        else:
            done = "response.function_call_arguments.done"
            yield ArgumentsDone(type=done, name=item.name, arguments=item.arguments, **self._place(item))
        self._replace(msgspec.structs.replace(item, status=status))
        yield ItemEvent(type="response.output_item.done", item=self.response.output[-1], **self._at())

    def _add(self, item: Item) -> Iterator[Event]:
        self._set(output=(*self.response.output, item))
        yield ItemEvent(type="response.output_item.added", item=item, **self._at())

    @property
    def _open(self) -> Item | None:
        """The item that is being made; None: there is none."""
        last = self.response.output[-1] if self.response.output else None
        return last if last is not None and last.status == "in_progress" else None

    def _replace(self, item: Item) -> None:
        self._set(output=(*self.response.output[:-1], item))

    def _set(self, **changes: Any) -> None:
        self.response = msgspec.structs.replace(self.response, **changes)

    def _told(self, kind: str) -> ResponseEvent:
        return ResponseEvent(type=kind, sequence_number=self._next(), response=self.response)

    def _place(self, item: Item) -> dict[str, Any]:
        return self._at() | {"item_id": item.id}

    def _at(self) -> dict[str, Any]:
        return {"sequence_number": self._next(), "output_index": len(self.response.output) - 1}

    def _next(self) -> int:
        self._num_events += 1
        return self._num_events - 1

    @property
    def num_events(self) -> int:
        return self._num_events

    def _logprobs(self, tokens: Sequence[TokenSampled]) -> tuple[Logprob, ...]:
        found = logprobs_of(tokens, self._head)
        return tuple(
            Logprob(
                each.token,
                each.logprob,
                each.bytes or [],
                [TopLogprob(top.token, top.logprob, top.bytes or []) for top in each.top_logprobs],
            )
            for each in (found.content if found is not None else None) or ()
        )


_ERRORS = {
    "prompt_too_long": "invalid_prompt",
    "messages_refused": "invalid_prompt",
    "overloaded": "rate_limit_exceeded",
}


def _status(step: Ended) -> tuple[Status, Incomplete | None]:
    if step.is_cancelled:
        return "cancelled", None
    if step.finish_reason == "length":
        return "incomplete", Incomplete("max_output_tokens")
    if step.finish_reason == "content_filter":
        return "incomplete", Incomplete("content_filter")
    return "completed", None


def usage_of(tokens: Tokens, num_thinking: int = 0) -> Usage:
    """Return the usage in OpenAI's form: cached tokens are a part of the input."""
    written = tokens.cache_write_5m + tokens.cache_write_1h
    num_input = tokens.uncached_input + tokens.cache_read + written
    details = InputDetails(tokens.cache_read, written)
    return Usage(num_input, details, tokens.output, OutputDetails(num_thinking), num_input + tokens.output)
