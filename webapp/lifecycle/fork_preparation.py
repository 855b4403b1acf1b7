"""The preparation of a fork: takes over its parent's prompt and checks its answer's beginning.

Nothing is assembled or tokenized again, so that the prefix cache finds the parent's blocks.
"""

from __future__ import annotations

import time
from typing import cast

import msgspec

from inference.eventlog.clock import RequestClock
from inference.protocol.events import AnyEvent, Frame, GenerationForked, SafetyChecked
from inference.protocol.failures import Failure, FailureCode
from inference.protocol.generations import numbered
from inference.protocol.request import SamplingParams
from inference.protocol.safety_policy import Layer
from webapp.lifecycle.fork import CannotFork, Parent, parent_of, shown_text
from webapp.lifecycle.prepare import Prepared
from webapp.lifecycle.prompt_packing import served
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.input import ForkInput
from webapp.requests.models import Request
from webapp.traces import store
from webapp.traces.file.archive import TraceFileError

_GONE = "The request that this answer continues was deleted, together with its prompt."


def frames_of(request: Request) -> list[Frame]:
    """A request's frames, from its saved trace or, while it runs, its log. Raises TraceFileError."""
    return store.load_frames(request.pk) if request.is_settled else services.event_log().read(request.pk)


class ForkPreparation:
    """Prepares one fork."""

    def __init__(self, request: Request, source: ForkInput) -> None:
        """Raises CannotPrepare."""
        self._request = request
        self._clock = RequestClock(request.accepted_unix_us)
        self._params = msgspec.convert(request.params, SamplingParams)
        self._ids, self._is_written, self._generation = source.ids, source.is_written, source.generation
        self._tokenizer = served(request.model).tokenizer

    def run(self) -> Prepared:
        """Prepare the fork. Raises Failure where the parent cannot be continued."""
        start_ns = time.perf_counter_ns()
        parent = self._parent()
        taken_over = self._taken_over(parent, (time.perf_counter_ns() - start_ns) // 1000)
        checks, refusal = self._check()
        if refusal is not None:
            return Prepared([*checks], refusal)
        return Prepared([*taken_over, *checks, self._forked(parent)])

    def _parent(self) -> Parent:
        source = self._request.forked_from
        if source is None:
            raise CannotPrepare("context", "parent_gone", _GONE)
        try:
            events = [event for frame in frames_of(source) for event in frame.events]
            if not events:
                raise CannotPrepare("context", "parent_gone", _GONE)
            return parent_of(events, self._tokenizer, self._request.model, self._generation)
        except CannotFork as error:
            raise CannotPrepare("context", cast(FailureCode, error.code), str(error)) from None
        except TraceFileError:
            raise CannotPrepare("context", "parent_gone", _GONE) from None

    def _taken_over(self, parent: Parent, duration_us: int) -> list[AnyEvent]:
        at = self._clock.at()
        context = msgspec.structs.replace(parent.context, at=at, duration_us=duration_us)
        prompt = msgspec.structs.replace(parent.prompt, at=at, duration_us=0)
        return [numbered(context, 0), numbered(prompt, 0)]

    def _check(self) -> tuple[list[SafetyChecked], Failure | None]:
        """Check the answer's whole beginning: by choosing token after token, a person could write anything.

        A person's own text is checked as input, too.
        """
        text = b"".join(self._pieces()).decode("utf-8", "replace")
        layers: list[Layer] = ["input", "output"] if self._is_written else ["output"]
        done: list[SafetyChecked] = []
        for layer in layers if text.strip() else ():
            check = services.guard(self._request.user_id).check(text, layer)
            check = check.of_known_text() if layer == "output" else check
            done.append(check.event(self._clock.at(), layer, 0, len(text)))
            if check.is_stopping(can_rewrite=False):
                return done, Failure("safety", "blocked", check.replacement)
        return done, None

    def _forked(self, parent: Parent) -> GenerationForked:
        pieces = self._pieces()
        shown = shown_text(pieces, self._params.stop, parent.prompt.thinking)
        assert self._request.forked_from_id is not None and self._request.fork_position is not None
        return GenerationForked(
            at=self._clock.at(),
            from_request_id=self._request.forked_from_id,
            position=self._request.fork_position,
            ids=self._ids,
            pieces=pieces,
            text=shown.text,
            thinking=shown.thinking,
            from_generation=parent.generation,
            rounds=parent.rounds,
        )

    def _pieces(self) -> tuple[bytes, ...]:
        return tuple(map(self._tokenizer.piece, self._ids))
