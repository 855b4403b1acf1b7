"""The preparation of a request: checks the input, assembles the context, tokenizes. Knows nothing of queues."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import msgspec

from inference.eventlog.clock import RequestClock
from inference.protocol.events import AnyEvent, SafetyChecked
from inference.protocol.failures import Failure
from inference.protocol.request import SamplingParams
from inference.protocol.safety_policy import Layer
from inference.safety import Guard
from webapp.content.attachments.models import PREFIX as ATTACHMENT
from webapp.ground.context import documents
from webapp.ground.context.assemble import Assembled, SourceMessage
from webapp.lifecycle.prompt_packing import pack, packing_events, served
from webapp.lifecycle.recalling import Recalled, check_memories
from webapp.models.registry.offered import has_vision, no_vision
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.input import Messages, MessagesInput, PlainInput, SavedInput, on_full
from webapp.requests.models import IMPORTED, Request


@dataclass(frozen=True)
class Packed:
    """An assembled context and its time."""

    assembled: Assembled
    at: int
    duration_us: int
    before: tuple[AnyEvent, ...] = ()
    """The events of what the assembly took in: the memories, with their checks."""


@dataclass(frozen=True)
class Prepared:
    """The events and the result of a preparation."""

    events: list[AnyEvent]
    """The events that record the preparation, in order."""
    failure: Failure | None = None
    """The reason why nothing can be generated."""


class Preparation:
    """Prepares one request."""

    def __init__(self, request: Request, source: MessagesInput | PlainInput | SavedInput) -> None:
        """Raises CannotPrepare."""
        self._request = request
        self._clock = RequestClock(request.accepted_unix_us)
        self._params = msgspec.convert(request.params, SamplingParams)
        self._messages = source.messages
        self._is_given = isinstance(source, PlainInput) or (isinstance(source, MessagesInput) and source.is_given)
        self._recalled = source.recalled if isinstance(source, MessagesInput) else None
        self._on_full = on_full(source) if isinstance(source, MessagesInput) else "fill"
        self._summarised = source.summarised if isinstance(source, MessagesInput) else ()
        self._selected = source.selected if isinstance(source, MessagesInput) else None
        self._may_rewrite = not isinstance(source, SavedInput)
        self._read = source.messages
        self._model = served(request.model)

    def run(self) -> Prepared:
        """Check the input and pack the prompt in parallel: both release the interpreter lock while they compute."""
        guard = services.guard(self._request.user_id)
        self._read = self._rewritten(guard)
        packing = services.background_pool().submit(self._pack, guard)
        text = self._words(packing)
        check = guard.check(text, "input", self._request.principal)
        checked = check.event(self._clock.at(), "input", 0, len(check.text))
        if check.is_stopping(self._may_rewrite):
            return Prepared([checked], Failure("safety", "blocked", check.replacement))
        files, refusal = self._check_files(guard)
        if refusal is None and self._has_pictures and not has_vision(self._request.model):
            refusal = Failure("context", "unsupported", no_vision(self._request.model))
        if refusal is not None:
            return Prepared([checked, *files], refusal)
        try:
            packed = packing.result()
        except CannotPrepare as error:
            return Prepared([checked, *files], error.failure)
        prepared = self._prepared(checked, packed)
        return replace(prepared, events=in_order([*files, *prepared.events]))

    def _check_files(self, guard: Guard) -> tuple[list[AnyEvent], Failure | None]:
        """The record of the files' choice, and the checks of their texts, as of results of a tool."""
        events: list[AnyEvent] = []
        if self._selected is not None:
            events.append(msgspec.structs.replace(self._selected, at=self._clock.at()))
        for message in self._messages:
            if message.image is not None or not message.source.startswith(ATTACHMENT):
                continue
            text = documents.told(message.content)
            check = guard.check(text, "tool_result", self._request.principal)
            event = check.event(self._clock.at(), "tool_result", 0, len(text))
            events.append(msgspec.structs.replace(event, subject=message.source.partition("#")[0]))
            if check.is_stopping(self._may_rewrite):
                return events, Failure("safety", "blocked", check.replacement)
        return events, None

    @property
    def _has_pictures(self) -> bool:
        return any(message.image is not None for message in self._messages)

    def _words(self, packing: Future[Packed]) -> str:
        """The user's words that no earlier request checked, and the system prompt, which may have changed since."""
        if self._is_given:
            return "\n".join(message.content for message in self._messages)
        system = [message.content for message in self._messages if self._is_own_system(message)]
        texts = [message for message in self._messages if message.image is None]  # a picture may be the last message
        said = [*system, *self._imported(packing), *(message.content for message in texts[-1:])]
        return "\n".join(said)

    def _is_own_system(self, message: SourceMessage) -> bool:
        """True of the system prompt. Memories are checked one by one, so that a blocked one leaves alone."""
        return message.role == "system" and (message.kind != "memory" or self._recalled is None)

    def _imported(self, packing: Future[Packed]) -> list[str]:
        """The texts of imported messages, of any role, that are in the prompt."""
        history = self._messages[:-1]
        if not any(message.source.startswith(IMPORTED) for message in history) or packing.exception() is not None:
            return []
        kept = {segment.source for segment in packing.result().assembled.segments}
        return [each.content for each in history if each.source.startswith(IMPORTED) and each.source in kept]

    def _pack(self, guard: Guard) -> Packed:
        recalled = self._checked_memories(guard)
        start = time.perf_counter_ns()
        assembled = self._assemble(recalled.messages)
        return Packed(
            assembled, self._clock.at(), (time.perf_counter_ns() - start) // 1000, before=tuple(recalled.events)
        )

    def _checked_memories(self, guard: Guard) -> Recalled:
        if self._recalled is None:
            return Recalled(self._read, [])
        return check_memories(self._read, self._recalled, guard, self._request.principal, self._clock.at)

    def _assemble(self, messages: Messages) -> Assembled:
        return pack(self._model, messages, self._params, self._on_full, self._summarised)

    def _rewritten(self, guard: Guard) -> Messages:
        """The messages as the model reads them. The assistant's were checked when they were written."""
        return tuple(
            each if each.role == "assistant" else replace(each, content=guard.rewritten(each.content, _layer_of(each)))
            for each in self._messages
        )

    def _prepared(self, checked: SafetyChecked, packed: Packed) -> Prepared:
        return Prepared(self._in_order(checked, packed))

    def _in_order(self, checked: SafetyChecked, packed: Packed) -> list[AnyEvent]:
        packing = packing_events(self._model, packed.assembled, packed.at, packed.duration_us)
        return in_order([checked, *packed.before, *packing])


def _layer_of(message: SourceMessage) -> Layer:
    """Texts that the user did not write for this request count as a tool's results."""
    return "tool_result" if message.kind in ("memory", "attachment") else "input"


def in_order(events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """The events by their times."""
    return sorted(events, key=lambda event: event.at)
