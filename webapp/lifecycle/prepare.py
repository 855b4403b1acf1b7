"""The preparation of a request: checks the input, assembles the context, tokenizes. Knows nothing of queues."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass

import msgspec

from inference.eventlog.clock import RequestClock
from inference.protocol.events import AnyEvent, SafetyChecked
from inference.protocol.failures import Failure
from inference.protocol.request import SamplingParams
from webapp.context.assemble import Assembled
from webapp.lifecycle.packing import pack, packing_events, served
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.input import MessagesInput, PlainInput, SavedInput
from webapp.requests.models import IMPORTED, Request


@dataclass(frozen=True)
class Packed:
    """An assembled context and its time."""

    assembled: Assembled
    at: int
    duration_us: int


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
        self._may_drop = isinstance(source, MessagesInput) and (source.may_drop or not source.is_given)
        self._model = served(request.model)

    def run(self) -> Prepared:
        """Check the input and pack the prompt in parallel: both release the interpreter lock while they compute."""
        packing = services.background_pool().submit(self._pack)
        text = self._words(packing)
        check = services.guard().check(text, "input", self._request.principal)
        checked = check.event(self._clock.at(), "input", 0, len(text))
        if check.verdict == "block":
            return Prepared([checked], Failure("safety", "blocked", check.replacement))
        try:
            packed = packing.result()
        except CannotPrepare as error:
            return Prepared([checked], error.failure)
        return self._prepared(checked, packed)

    def _words(self, packing: Future[Packed]) -> str:
        """The user's words that no earlier request checked, and the system prompt, which may have changed since."""
        if self._is_given:
            return "\n".join(message.content for message in self._messages)
        system = [message.content for message in self._messages if message.role == "system"]
        said = [*system, *self._imported(packing), *(message.content for message in self._messages[-1:])]
        return "\n".join(said)

    def _imported(self, packing: Future[Packed]) -> list[str]:
        """The texts of imported messages, of any role, that are in the prompt."""
        history = self._messages[:-1]
        if not any(message.source.startswith(IMPORTED) for message in history) or packing.exception() is not None:
            return []
        kept = {segment.source for segment in packing.result().assembled.segments}
        return [each.content for each in history if each.source.startswith(IMPORTED) and each.source in kept]

    def _pack(self) -> Packed:
        start = time.perf_counter_ns()
        assembled = self._assemble()
        return Packed(assembled, self._clock.at(), (time.perf_counter_ns() - start) // 1000)

    def _assemble(self) -> Assembled:
        return pack(self._model, self._messages, self._params, may_drop=self._may_drop)

    def _prepared(self, checked: SafetyChecked, packed: Packed) -> Prepared:
        return Prepared(self._in_order(checked, packed))

    def _in_order(self, checked: SafetyChecked, packed: Packed) -> list[AnyEvent]:
        packing = packing_events(self._model, packed.assembled, packed.at, packed.duration_us)
        return sorted([checked, *packing], key=lambda event: event.at)
