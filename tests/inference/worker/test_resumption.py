"""An answer whose worker is lost goes on with another after any frame of its log, as if nothing had happened."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.engine.engine import Engine
from inference.engine.loading import load_engine
from inference.eventlog.clock import unix_us
from inference.eventlog.entry import BEGINNING, Entry, Mark
from inference.eventlog.memory import MemoryEventLog
from inference.grammar.grammar import Grammars
from inference.kernels.library import Kernels
from inference.protocol.events import (
    AnyEvent,
    CacheLookedUp,
    Frame,
    GenerationFinished,
    GenerationInterrupted,
    GenerationQueued,
    GenerationResumed,
    TextReleased,
    TextWithheld,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.generations import by_number
from inference.protocol.request import GenerationRequest, LogitBias, SamplingParams, StepCommand
from inference.safety import Guard
from inference.tokenization.tokenizer import Tokenizer
from inference.worker.engine_thread import EngineThread
from inference.worker.generation import Generation, WorkerServices
from inference.worker.journal import Journal
from inference.worker.resumption import permitted
from tests.lost_logs import lose
from webapp.lifecycle.stream.shared_traces import SharedTrace
from webapp.traces.file.archive import decode, encode

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"age": {"type": "integer", "maximum": 150}, "town": {"type": "string"}},
        "required": ["age", "town"],
    }
)
REQUESTS: dict[str, dict[str, object]] = {
    "greedy": {"temperature": 0},
    "drawn": {"temperature": 1.2, "seed": 7},
    "penalties": {"temperature": 0.9, "seed": 3, "frequency_penalty": 1.0, "presence_penalty": 0.5, "top_k": 40},
    "DRY": {"temperature": 0, "dry_multiplier": 2.0, "repetition_penalty": 1.3},
    "a stop text": {"temperature": 0},
    "a stop text of several tokens": {"temperature": 0},
    "a schema": {"temperature": 0.5, "seed": 1, "json_schema": SCHEMA},
    "a form": {"temperature": 0, "regex": "[a-f]{3}( [0-9]{2}){4}"},
    "a cycle": {"temperature": 0, "max_tokens": 200, "logit_bias": (LogitBias(id=2683, bias=100.0),)},
}
STOPS: dict[str, list[tuple[int, int]]] = {
    "a stop text": [(14, 17)],
    "a stop text of several tokens": [(18, 22), (12, 15)],
}
"""Tokens of the greedy answer, whose text ends it."""


@pytest.fixture(scope="module")
def engine(tiny_path: Path, tokenizer: Tokenizer, kernels: Kernels) -> Engine:
    """With kernels, whose results do not depend on how many rows are computed together."""
    return load_engine(tiny_path, 1, tokenizer, kernels=kernels)


@pytest.fixture(scope="module")
def thread(engine: Engine) -> Iterator[EngineThread]:
    thread = EngineThread(engine, MemoryEventLog())
    thread.start()
    yield thread
    thread.stop("over")
    thread.join(60)


class Workers:
    """Workers with one engine, each with a log of its own."""

    def __init__(self, thread: EngineThread, tokenizer: Tokenizer, guard: Guard) -> None:
        self._parts = (thread, tokenizer, Grammars(tokenizer), guard)
        self._numbers = itertools.count()

    def run(self, asked: GenerationRequest, before: Sequence[Frame] = (), commands: Sequence[StepCommand] = ()) -> Log:
        """Run the request after the frames of an earlier attempt; no answer finds another's blocks in the cache."""
        log = MemoryEventLog()
        log.append(asked.request_id, [GenerationQueued(at=0, attempt=1, queue_depth=0)], 1)
        for frame in before:
            log.append(asked.request_id, frame.events, 1)
        for command in commands:
            log.command(asked.request_id, command)
        attempt = 1
        if before:
            attempt = 2
            told = GenerationInterrupted(at=0, attempt=1, cause="lost", worker=None, silent_us=0)
            log.append(asked.request_id, [told], attempt)
        request = msgspec.structs.replace(
            asked,
            attempt=attempt,
            is_resumed=bool(before),
            principal=f"user:{next(self._numbers)}",
            log_seq=log.last_seq(asked.request_id),
        )
        assert self.generation(log, request).run() is None
        return Log(log.read(asked.request_id))

    def generation(self, log: MemoryEventLog, request: GenerationRequest) -> Generation:
        return Generation(WorkerServices("test", *self._parts, log), request, time.monotonic_ns(), claim="mine")


class Log:
    """A finished log: its frames after the first, and what they say."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.frames = frames[1:]
        self.events: list[AnyEvent] = [event for frame in self.frames for event in frame.events]

    @property
    def ids(self) -> list[int]:
        return [event.id for event in self.events if isinstance(event, TokenSampled)]

    @property
    def positions(self) -> list[int]:
        return [event.position for event in self.events if isinstance(event, TokenSampled)]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextReleased))

    @property
    def end(self) -> tuple[object, ...]:
        (finished,) = [event for event in self.events if isinstance(event, GenerationFinished)]
        num_input = finished.usage.uncached_input + finished.usage.cache_read
        return finished.finish_reason, num_input, finished.usage.output


@pytest.fixture(scope="module")
def workers(thread: EngineThread, tokenizer: Tokenizer, guard: Guard) -> Workers:
    return Workers(thread, tokenizer, guard)


def request(tokenizer: Tokenizer, prompt: str = "Once upon a time", **params: object) -> GenerationRequest:
    return GenerationRequest(
        request_id="a",
        attempt=1,
        model="smollm2",
        prompt_ids=tuple(tokenizer.encode(prompt)),
        params=SamplingParams(**({"max_tokens": 24} | params)),  # type: ignore[arg-type]
        accepted_unix_us=unix_us(),
        principal="",
    )


@pytest.fixture(scope="module")
def named(workers: Workers, tokenizer: Tokenizer) -> dict[str, GenerationRequest]:
    """Requests by their names. Stop texts are parts of the greedy answer, which is another on another CPU."""
    ids = workers.run(request(tokenizer, **REQUESTS["greedy"])).ids
    stops = {
        name: tuple(b"".join(map(tokenizer.piece, ids[start:end])).decode() for start, end in parts)
        for name, parts in STOPS.items()
    }
    return {name: request(tokenizer, **params, stop=stops.get(name, ())) for name, params in REQUESTS.items()}


@pytest.mark.parametrize("name", REQUESTS)
def test_after_any_frame_the_answer_goes_on_as_undisturbed(
    workers: Workers, named: dict[str, GenerationRequest], name: str
) -> None:
    asked = named[name]
    whole = workers.run(asked)
    assert len(whole.frames) > 2
    for num_frames in range(1, len(whole.frames)):
        resumed = workers.run(asked, whole.frames[:num_frames])
        told = next(event for event in resumed.events if isinstance(event, GenerationResumed))
        assert told.num_tokens == sum(
            isinstance(event, TokenSampled) for frame in whole.frames[:num_frames] for event in frame.events
        )
        assert (resumed.ids, resumed.positions) == (whole.ids, list(range(len(whole.ids))))
        assert (resumed.text, resumed.end) == (whole.text, whole.end)


class LossyLog(MemoryEventLog):
    """A log that loses frames once, at the worker's first append of a certain event after its first frame."""

    def __init__(self, is_due: Callable[[AnyEvent], bool], num_left: int) -> None:
        super().__init__()
        self._is_due, self._num_left, self.is_lost = is_due, num_left, False

    def append(self, request_id: str, events: Sequence[AnyEvent], *rest: Any, **named: Any) -> Entry:
        is_begun = len(self.entries(request_id)) > 1
        if is_begun and not self.is_lost and any(map(self._is_due, events)):
            self.is_lost = True
            lose(self, request_id, self._num_left)
        return super().append(request_id, events, *rest, **named)


def is_anything(event: AnyEvent) -> bool:
    return True


def is_half_done(event: AnyEvent) -> bool:
    return is_over(event) or (isinstance(event, TokenSampled) and event.position >= 8)


def is_over(event: AnyEvent) -> bool:
    return isinstance(event, GenerationFinished)


LOSSES: list[tuple[str, Callable[[AnyEvent], bool], int]] = [
    ("drawn", is_anything, 0),
    ("drawn", is_half_done, 1),
    ("a schema", is_half_done, 0),
    ("a schema", is_over, 2),
    ("a stop text", is_anything, 1),
    ("a stop text", is_over, 0),
]
"""A request, the event before which its log loses frames, and how many frames are left."""


@pytest.mark.parametrize(("name", "is_due", "num_left"), LOSSES)
def test_a_log_that_loses_frames_in_mid_answer_has_them_again(
    workers: Workers,
    named: dict[str, GenerationRequest],
    name: str,
    is_due: Callable[[AnyEvent], bool],
    num_left: int,
) -> None:
    """tests/inference/worker/test_journal.py loses frames at every place of a log that no engine writes."""
    asked = msgspec.structs.replace(named[name], log_seq=1)
    whole, log = workers.run(asked), LossyLog(is_due, num_left)
    log.append("a", [GenerationQueued(at=0, attempt=1, queue_depth=0)], 1)
    assert workers.generation(log, msgspec.structs.replace(asked, principal=f"lossy:{name}")).run() is None
    found = Log(log.read("a"))
    assert log.is_lost
    assert (found.ids, found.positions, found.text) == (whole.ids, whole.positions, whole.text)
    assert found.end == whole.end and log.entries("a")[0].seq == 1
    for first, second in itertools.pairwise(log.entries("a")):
        assert (second.seq, second.follows) == (first.last_seq + 1, first.digest)


def test_frames_of_an_answer_that_are_lost_at_any_place_are_put_back_as_they_were(
    workers: Workers, tokenizer: Tokenizer
) -> None:
    asked = request(tokenizer, **REQUESTS["penalties"])
    frames = [Frame(seq=1, events=(GenerationQueued(at=0, attempt=1, queue_depth=0),)), *workers.run(asked).frames]
    undisturbed = journaled(frames, 0, 0)
    assert [entry.seq for entry in undisturbed] == [frame.seq for frame in frames] and len(frames) > 3
    for before in range(2, len(frames)):
        for num_left in range(before):
            assert journaled(frames, before, num_left) == undisturbed


def journaled(frames: Sequence[Frame], before: int, num_left: int) -> list[Entry]:
    """Write the frames; before one of them, all but the log's first ones are lost."""
    log = MemoryEventLog()
    log.append("a", frames[0].events, 1)
    journal = Journal(log, "a", 1, 1)
    for number, frame in enumerate(frames[1:], 1):
        if number == before:
            lose(log, "a", num_left)
        journal.append(frame.events)
    return list(log.entries("a"))


def test_an_answer_in_step_mode_is_still_led_once_log_and_commands_are_lost(
    workers: Workers, tokenizer: Tokenizer
) -> None:
    log = MemoryEventLog()
    log.append("a", [GenerationQueued(at=0, attempt=1, queue_depth=0)], 1)
    asked = msgspec.structs.replace(request(tokenizer, temperature=0, max_tokens=3), is_stepped=True, log_seq=1)

    def proposed(position: int) -> None:
        while not any(
            isinstance(event, TokenProposed) and event.token.position == position
            for frame in log.read("a")
            for event in frame.events
        ):
            time.sleep(0.01)

    with ThreadPoolExecutor() as pool:
        done = pool.submit(workers.generation(log, asked).run)
        for position in range(3):
            proposed(position)
            if position == 2:
                lose(log, "a", 1)
            log.command("a", StepCommand(position=position))
        assert done.result(120) is None
    assert Log(log.read("a")).positions == [0, 1, 2]


def test_a_saved_trace_has_the_digests_of_its_log(workers: Workers, tokenizer: Tokenizer) -> None:
    """A reader that comes back after the log has gone is told from one whose frames were lost."""
    log = MemoryEventLog()
    log.append("a", [GenerationQueued(at=0, attempt=1, queue_depth=0)], 1)
    asked = msgspec.structs.replace(request(tokenizer, **REQUESTS["penalties"]), log_seq=1)
    assert workers.generation(log, asked).run() is None
    trace = SharedTrace(decode(encode(log.read("a"), {})).frames)
    marks = [entry.mark for entry in log.entries("a")]
    assert all(trace.has(mark) and not trace.has(Mark(mark.seq, "0" * 16)) for mark in marks)
    assert not trace.has(Mark(marks[-1].seq + 1)) and trace.has(Mark(1)) and trace.has(BEGINNING)


def test_a_fork_goes_on_after_its_kept_tokens_and_bills_them_as_input(workers: Workers, tokenizer: Tokenizer) -> None:
    kept = tuple(tokenizer.encode(" there was a café"))
    asked = msgspec.structs.replace(
        request(tokenizer, temperature=0.9, seed=2, presence_penalty=1.0), kept_ids=kept, kept_text=" there was a caf"
    )
    whole = workers.run(asked)
    for num_frames in range(1, len(whole.frames)):
        resumed = workers.run(asked, whole.frames[:num_frames])
        assert (resumed.ids, resumed.text, resumed.end) == (whole.ids, whole.text, whole.end)
        assert resumed.positions[0] == len(kept)


def test_a_generation_that_was_over_is_not_run_again(workers: Workers, tokenizer: Tokenizer) -> None:
    asked = request(tokenizer)
    whole = workers.run(asked)
    assert workers.run(asked, whole.frames).events[: len(whole.events)] == whole.events


def test_withheld_text_stays_withheld_and_ends_the_answer(workers: Workers, tokenizer: Tokenizer) -> None:
    asked = request(tokenizer)
    whole = workers.run(asked)
    *before, last = whole.frames[:3]
    withheld = TextWithheld(at=last.events[-1].at, num_tokens=3, category="violence", replacement="…")
    resumed = workers.run(asked, [*before, Frame(seq=last.seq, events=(withheld,))])
    assert resumed.end[0] == "content_filter"
    assert resumed.end[2] == len(resumed.ids) + 3
    assert whole.text.startswith(resumed.text)


def test_what_an_earlier_look_up_found_stays_billed_as_cached(workers: Workers, tokenizer: Tokenizer) -> None:
    asked = request(tokenizer, prompt="One story after another. " * 20)
    whole = workers.run(asked)
    found = [
        msgspec.structs.replace(event, num_cached_tokens=64) if isinstance(event, CacheLookedUp) else event
        for event in whole.events
    ]
    # Up to its first text in one frame: how many frames an answer has depends on the machine's speed.
    num_before = 1 + next(at for at, event in enumerate(found) if isinstance(event, TextReleased))
    before = Frame(seq=whole.frames[0].seq, events=tuple(found[:num_before]))
    finished = workers.run(asked, [before]).events[-1]
    assert isinstance(finished, GenerationFinished)
    assert (finished.usage.cache_read, finished.usage.uncached_input) == (64, len(asked.prompt_ids) - 64)


def test_in_step_mode_a_choice_made_while_no_worker_ran_is_taken(workers: Workers, tokenizer: Tokenizer) -> None:
    asked = request(tokenizer, temperature=0, max_tokens=12)
    whole = workers.run(asked)
    stepped = msgspec.structs.replace(asked, is_stepped=True)
    for num_frames in range(2, len(whole.frames)):
        before = whole.frames[:num_frames]
        num_taken = sum(isinstance(event, TokenSampled) for frame in before for event in frame.events)
        commands = [StepCommand(position=0, num_tokens=num_taken), StepCommand(position=num_taken, num_tokens=None)]
        resumed = workers.run(stepped, before, commands)
        assert (resumed.ids, resumed.end) == (whole.ids, whole.end)


def test_in_step_mode_an_answer_that_ran_on_runs_on(workers: Workers, tokenizer: Tokenizer) -> None:
    asked = request(tokenizer, temperature=0, max_tokens=12)
    whole = workers.run(asked)
    stepped = msgspec.structs.replace(asked, is_stepped=True)
    resumed = workers.run(stepped, whole.frames[:2], [StepCommand(position=0, num_tokens=None)])
    assert (resumed.ids, resumed.end) == (whole.ids, whole.end)


def test_a_second_generation_takes_over_its_own_tokens_alone(workers: Workers, tokenizer: Tokenizer) -> None:
    """Its positions begin anew, and so do the commands of step mode."""
    first = workers.run(request(tokenizer, prompt="The sea is", max_tokens=8))
    asked = msgspec.structs.replace(request(tokenizer, temperature=0.9, seed=5, max_tokens=12), generation=1)
    whole = workers.run(asked)
    (number,) = by_number(whole.events)
    assert number == 1
    stepped = msgspec.structs.replace(asked, is_stepped=True)
    for num_frames in range(1, len(whole.frames)):
        before = [*first.frames, *whole.frames[:num_frames]]
        resumed = workers.run(asked, before)
        own = Log([whole.frames[0], *resumed.frames[len(first.frames) :]])
        assert (own.ids, own.positions, own.text) == (whole.ids, whole.positions, whole.text)
        commands = [StepCommand(position=0, num_tokens=3), StepCommand(generation=1, position=0, num_tokens=None)]
        assert (
            Log([whole.frames[0], *workers.run(stepped, before, commands).frames[len(first.frames) :]]).ids == own.ids
        )


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=8), st.integers(0, 20))
def test_a_resumed_answer_may_take_what_an_undisturbed_one_might(steps: list[int | None], position: int) -> None:
    commands, at, until = [], 0, 0
    for num_tokens in steps:
        commands.append(StepCommand(position=at, num_tokens=num_tokens))
        until = 0 if num_tokens == 0 else 10**6 if num_tokens is None else at + num_tokens
        at = max(at, min(until, 20))
    if at >= position:
        return
    left = permitted(commands, position)
    assert (10**6 if left is None else left) >= 0
    assert permitted([*commands, StepCommand(position=at, num_tokens=0)], position) == 0
    assert permitted([*commands, StepCommand(position=at, num_tokens=None)], position) is None
    assert permitted([*commands, StepCommand(position=position - 1, num_tokens=4)], position) in (3, left)
