"""One engine thread under several tasks: none disturbs another, and trouble with the log disturbs none."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inference.backends.backend import AlreadyRunning, Description, Job
from inference.engine.engine import Engine
from inference.engine.loading import load_engine
from inference.engine.model_runner import ModelRunner
from inference.engine.scheduling.scheduler import Limits
from inference.engine.step_output import StepOutput
from inference.eventlog.clock import RequestClock, unix_us
from inference.eventlog.entry import BEGINNING, Entry, Mark
from inference.eventlog.event_log import Fenced
from inference.eventlog.memory import MemoryEventLog
from inference.grammar.grammar import Grammars
from inference.kernels.choice import find_kernels
from inference.protocol.events import (
    AnyEvent,
    BatchComposed,
    CacheLookedUp,
    GenerationFinished,
    GenerationInterrupted,
    GenerationPreempted,
    GenerationQueued,
    GenerationStarted,
    GrammarMasked,
    PrefillAdvanced,
    RequestCancelled,
    TextReleased,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.request import (
    REPETITION_TOKENS,
    FinishReason,
    GenerationRequest,
    LogitBias,
    SamplingParams,
    StepCommand,
    Usage,
)
from inference.safety import Guard
from inference.tokenization.tokenizer import Tokenizer
from inference.worker.engine_thread import EngineThread
from inference.worker.generation import Generation, Interrupted, WorkerServices
from tests.environment import KERNELS
from tests.inference.engine.fakes import CONFIG, FakeDecoder
from tests.inference.worker.test_output_guard import token as sampled


class TroubledLog(MemoryEventLog):
    """A log whose flags cannot be read, and whose appends fail when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_broken = False

    def is_cancelled(self, request_ids: Sequence[str]) -> list[bool]:
        if self.is_broken:
            raise ConnectionError("the log is away")
        return super().is_cancelled(request_ids)

    def append(
        self,
        request_id: str,
        events: Sequence[AnyEvent],
        attempt: int,
        known: Mark = BEGINNING,
        is_next: bool = False,
        claim: str = "",
    ) -> Entry:
        if self.is_broken:
            raise ConnectionError("the log is away")
        return super().append(request_id, events, attempt, known, is_next, claim)


@pytest.fixture(scope="module")
def engine(tiny_path: Path, tokenizer: Tokenizer) -> Engine:
    return load_engine(tiny_path, 1, tokenizer, kernels=find_kernels(KERNELS, 1))


@pytest.fixture
def log() -> TroubledLog:
    return TroubledLog()


@pytest.fixture
def thread(engine: Engine, log: TroubledLog) -> Iterator[EngineThread]:
    thread = EngineThread(engine, log)
    thread.start()
    yield thread
    thread.stop("over")
    thread.join(5)
    assert not thread.is_alive()
    assert not engine.has_work()


def request(
    tokenizer: Tokenizer, request_id: str, prompt: str = "Once upon a time", **params: object
) -> GenerationRequest:
    settings: dict[str, object] = {"temperature": 0, "max_tokens": 12} | params
    return GenerationRequest(
        request_id=request_id,
        attempt=1,
        model="smollm2",
        prompt_ids=tuple(tokenizer.encode(prompt)),
        params=SamplingParams(**settings),  # type: ignore[arg-type]
        accepted_unix_us=unix_us(),
        principal="",
    )


def job(tokenizer: Tokenizer, request_id: str, **params: object) -> Job:
    asked = request(tokenizer, request_id, **params)  # type: ignore[arg-type]
    return Job(asked, tokenizer.eos_ids, RequestClock(asked.accepted_unix_us))


def end_of(job: Job, events: list[AnyEvent] | None = None) -> StepOutput:
    """Wait for the end. events: takes what comes before."""
    while True:
        output = job.outputs.get(timeout=120)
        if events is not None:
            events += output.events
        if output.finish_reason is not None:
            return output


@pytest.fixture
def greedy_ids(thread: EngineThread, tokenizer: Tokenizer) -> list[int]:
    """Tokens of an undisturbed answer. They are others on another CPU."""
    whole = job(tokenizer, "whole", max_tokens=40)
    thread.submit(whole)
    events: list[AnyEvent] = []
    assert end_of(whole, events).finish_reason == "length"
    return tokens_of(events)


def test_a_second_delivery_disturbs_nobody(thread: EngineThread, tokenizer: Tokenizer) -> None:
    first, other = job(tokenizer, "a"), job(tokenizer, "b")
    thread.submit(first)
    thread.submit(other)
    with pytest.raises(AlreadyRunning):
        thread.submit(job(tokenizer, "a"))
    assert [end_of(each).usage.output for each in (first, other)] == [12, 12]
    again = job(tokenizer, "a")
    thread.submit(again)
    assert end_of(again).finish_reason == "length"


def test_an_end_meant_for_an_earlier_attempt_leaves_the_later_one(thread: EngineThread, tokenizer: Tokenizer) -> None:
    earlier = job(tokenizer, "a")
    later = replace(earlier, request=msgspec.structs.replace(earlier.request, attempt=2))
    thread.submit(later)
    thread.finish(earlier.request, "abort")
    assert end_of(later).finish_reason == "length"


def test_a_log_that_is_away_stops_no_answer(thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer) -> None:
    log.is_broken = True
    running = job(tokenizer, "a")
    thread.submit(running)
    assert end_of(running).finish_reason == "length"


class Hanging(FakeDecoder):
    """A decoder whose step lasts until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.is_in_step, self.may_go = threading.Event(), threading.Event()

    def forward(self, *arguments: Any, **named: Any) -> Any:
        self.is_in_step.set()
        assert self.may_go.wait(120)
        return super().forward(*arguments, **named)


@pytest.mark.parametrize(("hang_s", "is_alive"), [(0.001, False), (600, True)])
def test_a_thread_counts_as_dead_only_once_its_step_takes_longer_than_any(
    log: TroubledLog, tokenizer: Tokenizer, hang_s: float, is_alive: bool
) -> None:
    decoder = Hanging()
    thread = EngineThread(Engine(ModelRunner(decoder), tokenizer), log, hang_s)
    thread.start()
    assert thread.is_alive()
    running = msgspec.structs.replace(request(tokenizer, "a"), prompt_ids=(1, 2, 3))
    thread.submit(Job(running, frozenset(), RequestClock(running.accepted_unix_us)))
    assert decoder.is_in_step.wait(120)
    threading.Event().wait(0.01)
    assert thread.is_alive() == is_alive
    decoder.may_go.set()
    thread.stop("over")
    thread.join(120)


def test_cancel_ends_within_a_step(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = thread.engine.runner.run

    def slowly(step: Any) -> Any:
        time.sleep(0.015)  # as long as the bundled model needs
        return run(step)

    monkeypatch.setattr(thread.engine.runner, "run", slowly)
    running = job(tokenizer, "a", max_tokens=4000)
    thread.submit(running)
    seen = running.outputs.get(timeout=120).usage.output
    log.cancel("a")
    seen += running.outputs.qsize()
    ended = end_of(running)
    assert ended.finish_reason == "abort"
    assert ended.usage.output <= seen + 3


@pytest.mark.parametrize(("prompt", "code"), [("a b " * 9000, "prompt_too_long"), ("", "internal")])
def test_what_the_engine_refuses_is_told_with_a_code(
    thread: EngineThread, tokenizer: Tokenizer, prompt: str, code: str
) -> None:
    refused = job(tokenizer, "a", prompt=prompt)
    thread.submit(refused)
    output = end_of(refused)
    assert output.code == code
    assert len(output.message) > 10


def test_a_step_that_fails_loses_no_end(
    engine: Engine, log: TroubledLog, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = EngineThread(engine, log)
    over, running, later = (job(tokenizer, name) for name in "abc")
    for each in (over, running):
        thread.submit(each)
    thread.finish(over.request, "stop")
    with monkeypatch.context() as patch:
        patch.setattr(engine.runner, "run", lambda _step: 1 / 0)
        thread.turn()
    ends = [each.outputs.get_nowait() for each in (over, running)]
    assert [end.finish_reason for end in ends] == ["stop", "error"]
    assert "log has the details" in ends[1].message
    thread.submit(later)
    while later.outputs.empty() or engine.has_work():
        thread.turn()
    assert end_of(later).finish_reason == "length"


def test_an_engine_that_fails_altogether_leaves_no_job_without_its_end(
    engine: Engine, log: TroubledLog, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = EngineThread(engine, log)
    running, forgotten = job(tokenizer, "a"), job(tokenizer, "b")
    thread.submit(running)

    def fail() -> None:
        thread.submit(forgotten)
        raise ArithmeticError("the engine is broken")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "step", fail)
        thread.turn()
    assert [each.outputs.get_nowait().finish_reason for each in (running, forgotten)] == ["error", "error"]
    thread.turn()
    assert not engine.has_work()


def test_stop_ends_what_runs_and_what_comes_late(engine: Engine, log: TroubledLog, tokenizer: Tokenizer) -> None:
    thread = EngineThread(engine, log)
    waiting = job(tokenizer, "early")
    thread.submit(waiting)
    thread.stop("bye")
    thread.start()
    assert end_of(waiting).message == "bye"
    thread.join(5)
    assert not thread.is_alive()


def test_a_thread_whose_device_is_lost_ends_and_tells_what_was_done_before(
    log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    """So the worker ends too; else it would take every request, to fail it."""
    decoder = FakeDecoder(replace(CONFIG, vocab_size=tokenizer.vocab_size), lost_after=6)
    thread = EngineThread(Engine(ModelRunner(decoder), tokenizer), log)
    short, long = job(tokenizer, "a", max_tokens=6), job(tokenizer, "b")
    thread.submit(short)
    thread.submit(long)
    thread.start()
    assert end_of(short).finish_reason == "length"
    assert end_of(long).finish_reason == "error"
    thread.join(5)
    assert not thread.is_alive()
    with pytest.raises(Interrupted, match="lost"):
        Generation(services(thread, log, tokenizer, guard), request(tokenizer, "c"), time.monotonic_ns()).run()


def services(thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard) -> WorkerServices:
    return WorkerServices("test", thread, tokenizer, Grammars(tokenizer), guard, log)


@pytest.mark.parametrize("stops_at", [None, (12, 14), (20, 21)])
def test_the_log_of_a_generation_adds_up(
    thread: EngineThread,
    log: TroubledLog,
    tokenizer: Tokenizer,
    guard: Guard,
    greedy_ids: list[int],
    stops_at: tuple[int, int] | None,
) -> None:
    stop = (tokenizer.decode(greedy_ids[slice(*stops_at)]),) if stops_at else ()
    asked = request(tokenizer, "a", max_tokens=40, stop=stop)
    told = run_to_log(services(thread, log, tokenizer, guard), asked)
    events = [event for event in told if not isinstance(event, GenerationQueued)]  # a slow engine lets it wait
    started, looked_up, composed, prefilled, finished = *events[:4], events[-1]
    assert isinstance(composed, BatchComposed) and composed.num_decoding == 0
    assert isinstance(started, GenerationStarted) and isinstance(looked_up, CacheLookedUp)
    assert isinstance(prefilled, PrefillAdvanced) and isinstance(finished, GenerationFinished)
    assert 0 <= started.queued_us <= started.at == looked_up.at <= prefilled.at - prefilled.step_us
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    text = "".join(event.text for event in events if isinstance(event, TextReleased))
    assert finished.usage.output == len(tokens)
    assert b"".join(token.piece for token in tokens).decode().startswith(text)
    assert finished.finish_reason == ("stop" if stop else "length")
    assert not any(each in text for each in stop)


def run_to_log(services: WorkerServices, asked: GenerationRequest, alive_check_s: float = 1.0) -> list[AnyEvent]:
    assert Generation(services, asked, time.monotonic_ns(), alive_check_s).run() is None
    return [event for frame in services.log.read(asked.request_id) for event in frame.events]


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


def test_an_answer_keeps_to_its_schema_and_every_mask_is_recorded(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    asked = request(tokenizer, "a", max_tokens=80, json_schema=json.dumps(SCHEMA))
    events = run_to_log(services(thread, log, tokenizer, guard), asked)
    answer = json.loads("".join(event.text for event in events if isinstance(event, TextReleased)))
    assert isinstance(answer["name"], str) and isinstance(answer["age"], int)
    finished = events[-1]
    assert isinstance(finished, GenerationFinished) and finished.finish_reason == "stop"
    masks = [event for event in events if isinstance(event, GrammarMasked)]
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    assert [mask.position for mask in masks] == [token.position for token in tokens] == list(range(len(tokens)))
    for mask, token in zip(masks, tokens, strict=True):
        assert token.processors[0].name == "grammar"
        assert token.processors[0].num_candidates == mask.num_allowed
    # The model would rather have begun with another word.
    assert tokens[0].rank > 1 and tokens[0].processors[0].masked
    assert tokens[-1].is_special and masks[-1].num_allowed == len(tokenizer.eos_ids)


def test_an_answer_that_reaches_max_tokens_within_its_grammar_is_cut(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    asked = request(tokenizer, "a", max_tokens=3, json_schema=json.dumps(SCHEMA))
    finished = run_to_log(services(thread, log, tokenizer, guard), asked)[-1]
    assert isinstance(finished, GenerationFinished) and finished.finish_reason == "length"


@pytest.mark.parametrize("setting", ["regex", "json_schema"])
def test_a_form_that_becomes_too_complex_fails_its_request_alone_and_names_the_setting(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard, setting: str
) -> None:
    pattern = "(\\w{1,100}\\s?){1,100}"
    form = pattern if setting == "regex" else json.dumps({"type": "string", "pattern": f"^{pattern}$"})
    other = job(tokenizer, "b", max_tokens=40)
    thread.submit(other)
    asked = request(tokenizer, "a", max_tokens=40, **{setting: form})
    failure = Generation(services(thread, log, tokenizer, guard), asked, time.monotonic_ns()).run()
    assert failure is not None and failure.code == "grammar_too_complex"
    assert f"params.{setting} is too complex" in failure.message and "Simplify it" in failure.message
    assert end_of(other).usage.output == 40


def test_an_answer_under_a_grammar_is_the_same_in_company(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    served = services(thread, log, tokenizer, guard)
    asked = [request(tokenizer, name, json_schema=json.dumps(SCHEMA), max_tokens=80) for name in "abc"]
    alone = tokens_of(run_to_log(served, asked[0]))
    others = [job(tokenizer, f"other {number}", max_tokens=60) for number in range(3)]
    for each in others:
        thread.submit(each)
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(lambda each: tokens_of(run_to_log(served, each)), asked[1:])) == [alone, alone]
    assert [end_of(each).usage.output for each in others] == [60, 60, 60]


def tokens_of(events: list[AnyEvent]) -> list[int]:
    return [event.id for event in events if isinstance(event, TokenSampled)]


def repeating(tokenizer: Tokenizer, num_kept: int, **params: object) -> GenerationRequest:
    """An answer that has begun with so many tokens of one cycle, and is biased to go on with the next one."""
    (again,) = tokenizer.encode(" again")
    asked = request(tokenizer, "a", max_tokens=120, logit_bias=(LogitBias(id=again, bias=100),), **params)
    pieces = [tokenizer.piece(again)] * num_kept
    return msgspec.structs.replace(asked, kept_ids=(again,) * num_kept, kept_text=b"".join(pieces).decode())


def test_an_answer_that_repeats_itself_is_ended(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    events = run_to_log(services(thread, log, tokenizer, guard), repeating(tokenizer, 0))
    finished = events[-1]
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    text = "".join(event.text for event in events if isinstance(event, TextReleased))
    assert isinstance(finished, GenerationFinished) and finished.finish_reason == "repetition"
    assert len(tokens) == finished.usage.output == REPETITION_TOKENS
    assert text == tokenizer.decode([token.id for token in tokens]) == " again" * REPETITION_TOKENS


def test_a_fork_s_tokens_belong_to_the_repetition(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    events = run_to_log(services(thread, log, tokenizer, guard), repeating(tokenizer, REPETITION_TOKENS - 3))
    assert len([event for event in events if isinstance(event, TokenSampled)]) == 3
    assert isinstance(events[-1], GenerationFinished) and events[-1].finish_reason == "repetition"


def test_it_goes_on_repeating_where_it_may(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    asked = repeating(tokenizer, REPETITION_TOKENS, stop_on_repetition=False)
    finished = run_to_log(services(thread, log, tokenizer, guard), asked)[-1]
    assert isinstance(finished, GenerationFinished) and finished.finish_reason == "length"


def test_a_stop_token_ends_the_answer_and_is_not_part_of_its_text(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard, greedy_ids: list[int]
) -> None:
    last_id = greedy_ids[20]
    asked = request(tokenizer, "a", max_tokens=40, stop_token_ids=(last_id,))
    events = run_to_log(services(thread, log, tokenizer, guard), asked)
    finished = events[-1]
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    assert isinstance(finished, GenerationFinished) and finished.finish_reason == "stop"
    assert tokens[-1].id == last_id and finished.usage.output == len(tokens)
    text = "".join(event.text for event in events if isinstance(event, TextReleased))
    assert text == tokenizer.decode([token.id for token in tokens[:-1]])


class Unstarted(EngineThread):
    """Counts what is submitted, and is not taken for dead before it starts."""

    num_submitted = 0

    def submit(self, job: Job) -> None:
        super().submit(job)
        self.num_submitted += 1

    def is_alive(self) -> bool:
        return True


def test_requests_behind_a_full_batch_say_how_many_are_in_front(
    engine: Engine, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    thread = Unstarted(Engine(engine.runner, tokenizer, limits=Limits(max_num_running=1)), log)
    asked = [request(tokenizer, name, max_tokens=num) for name, num in (("a", 300), ("b", 5), ("c", 5))]
    generations = [Generation(services(thread, log, tokenizer, guard), each, 0, alive_check_s=0.01) for each in asked]
    with ThreadPoolExecutor(len(asked)) as pool:
        done = []
        for num, generation in enumerate(generations, 1):  # in this order, whichever thread is the faster
            done.append(pool.submit(generation.run))
            while thread.num_submitted < num:
                time.sleep(0.001)
        thread.start()
        assert [each.result() for each in done] == [None] * 3
    thread.stop("over")
    thread.join(5)
    events = [event for each in asked for frame in log.read(each.request_id) for event in frame.events]
    assert {event.queue_depth for event in events if isinstance(event, GenerationQueued)} >= {0, 1}


class Preempting:
    """A back end that admits a request, preempts it, and lets it wait until that was said."""

    description, is_stopping, pulse = Description(), False, 0
    num_looks = 0

    def submit(self, job: Job) -> None:
        self.job = job
        self._deliver(CacheLookedUp(at=1, block_size=16, hits=(), num_cached_tokens=0))
        self._deliver(GenerationPreempted(at=2, num_tokens=4, num_blocks=1))
        self.pulse += 1

    def num_ahead(self, request_id: str) -> int:
        self._deliver(CacheLookedUp(at=3, block_size=16, hits=(), num_cached_tokens=0))
        self._deliver(None)
        return 7

    def is_alive(self) -> bool:
        self.num_looks += 1
        return self.num_looks < 100

    def finish(self, request: GenerationRequest, reason: FinishReason) -> None:
        pass

    def stop(self, message: str) -> None:
        pass

    def _deliver(self, event: AnyEvent | None) -> None:
        reason: FinishReason | None = "abort" if event is None else None
        self.job.outputs.put(StepOutput("a", [] if event is None else [event], Usage(), reason))


def test_a_preempted_request_says_that_it_waits_again(log: TroubledLog, tokenizer: Tokenizer, guard: Guard) -> None:
    services = WorkerServices("test", Preempting(), tokenizer, Grammars(tokenizer), guard, log)
    events = run_to_log(services, request(tokenizer, "a"), alive_check_s=0.01)
    preempted = next(index for index, event in enumerate(events) if isinstance(event, GenerationPreempted))
    queued = events[preempted + 1]
    assert isinstance(queued, GenerationQueued) and queued.queue_depth == 7


class PreemptingPaused(Preempting):
    """A back end that preempts an answer while its token waits to be chosen, and goes on once it was said to wait."""

    def submit(self, job: Job) -> None:
        self.job = job
        self._deliver(CacheLookedUp(at=1, block_size=16, hits=(), num_cached_tokens=0))
        self._deliver(TokenProposed(at=2, token=sampled(0, b"A")))
        self._deliver(GenerationPreempted(at=3, num_tokens=4, num_blocks=1))

    def take(self, request_id: str, command: StepCommand) -> None:
        self._deliver(sampled(0, b"A"))
        self.pulse += 1


def test_an_answer_preempted_while_its_token_waited_says_that_it_waits_once_that_is_taken(
    log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    services = WorkerServices("test", PreemptingPaused(), tokenizer, Grammars(tokenizer), guard, log)
    log.command("a", StepCommand(position=0))
    events = run_to_log(services, msgspec.structs.replace(request(tokenizer, "a"), is_stepped=True), 0.01)
    assert [event.queue_depth for event in events if isinstance(event, GenerationQueued)] == [7]


def test_a_request_stopped_while_it_waits_was_never_started(
    engine: Engine, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    thread = EngineThread(engine, log)
    thread.stop("The worker was stopped.")
    generation = Generation(services(thread, log, tokenizer, guard), request(tokenizer, "a"), time.monotonic_ns())
    submit = thread.submit

    def submit_then_run(job: Job) -> None:
        submit(job)
        thread.start()

    thread.submit = submit_then_run  # type: ignore[method-assign]
    with pytest.raises(Interrupted, match="stopped"):
        generation.run()
    events = [event for frame in log.read("a") for event in frame.events]
    assert [type(event) for event in events] == [GenerationInterrupted]


def test_a_writer_that_is_fenced_or_failing_leaves_the_engine(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    log.fence("a", 2)
    with pytest.raises(Fenced):
        Generation(services(thread, log, tokenizer, guard), request(tokenizer, "a", max_tokens=4000), 0).run()
    log.is_broken = True
    with pytest.raises(ConnectionError):
        Generation(services(thread, log, tokenizer, guard), request(tokenizer, "b", max_tokens=4000), 0).run()
    log.is_broken = False
    last = job(tokenizer, "c", max_tokens=2)
    thread.submit(last)
    assert end_of(last).finish_reason == "length"
    assert not thread.engine.has_work()


def test_in_step_mode_each_token_waits_for_a_choice_and_its_text_is_there_at_once(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    asked = msgspec.structs.replace(request(tokenizer, "a", max_tokens=6), is_stepped=True)

    def wait_for(position: int) -> TokenProposed:
        while not (found := [event for event in events_in(log) if isinstance(event, TokenProposed)][position:]):
            assert not done.done(), done.result()
            time.sleep(0.005)
        return found[0]

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(Generation(services(thread, log, tokenizer, guard), asked, 0).run)
        first = wait_for(0).token
        assert not [event for event in events_in(log) if isinstance(event, TokenSampled)]
        log.command("a", StepCommand(position=0))
        second = wait_for(1).token
        assert sum(len(event.text) for event in events_in(log) if isinstance(event, TextReleased)) > 0
        other = second.candidate_ids[1]
        log.command("a", StepCommand(position=1, token_id=other))
        assert wait_for(2).token.position == 2
        log.command("a", StepCommand(position=2, num_tokens=None))
        assert done.result(20) is None
    tokens = [event for event in events_in(log) if isinstance(event, TokenSampled)]
    assert [(each.id, each.chosen_by) for each in tokens[:2]] == [(first.id, "draw"), (other, "person")]
    assert len(tokens) == 6
    text = "".join(event.text for event in events_in(log) if isinstance(event, TextReleased))
    assert text == tokenizer.decode([each.id for each in tokens])


def test_an_answer_that_nobody_goes_on_with_ends_by_itself(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard
) -> None:
    asked = msgspec.structs.replace(request(tokenizer, "a"), is_stepped=True)
    assert Generation(services(thread, log, tokenizer, guard), asked, 0, idle_s=0.05).run() is None
    *_, cancelled, finished = events_in(log)
    assert isinstance(cancelled, RequestCancelled) and "no choice" in cancelled.by
    assert isinstance(finished, GenerationFinished) and finished.finish_reason == "abort"


def test_commands_that_take_nothing_keep_no_answer_waiting(
    thread: EngineThread, log: TroubledLog, tokenizer: Tokenizer, guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    void = iter([StepCommand(position=7, num_tokens=num) for num in (0, 1)] * 50)
    monkeypatch.setattr(log, "commands", lambda *_: [command] if (command := next(void, None)) else [])
    asked = msgspec.structs.replace(request(tokenizer, "a"), is_stepped=True)
    assert Generation(services(thread, log, tokenizer, guard), asked, 0, idle_s=0.1).run() is None
    assert next(void, None) is not None


def events_in(log: TroubledLog) -> list[AnyEvent]:
    return [event for frame in log.read("a") for event in frame.events]
