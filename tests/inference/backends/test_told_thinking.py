"""Thinking that a server tells in a field of its own is the answer's thinking, as if its tags stood in the text."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import pytest

from inference.backends.backend import Job
from inference.backends.parameters import Kind
from inference.engine.step_output import StepOutput
from inference.eventlog.clock import RequestClock, unix_us
from inference.eventlog.memory import MemoryEventLog
from inference.grammar.grammar import Grammars
from inference.protocol.events import GenerationFinished
from inference.protocol.thinking import Thinking
from inference.safety import Guard
from inference.tokenization.tokenizer import Tokenizer
from inference.worker.generation import Generation, WorkerServices
from inference.worker.output_guard import OutputGuard
from tests.inference.backends.conftest import Script, Start, job, outputs_of, tokens_of
from tests.inference.backends.test_misbehaving_servers import DONE, event, server_at
from tests.inference.worker.test_thinking_output import ended, run, said

Answered = Callable[[Job], list[StepOutput]]
THOUGHT = ["Two and two", " are four,", " says anna@example.com."]
HIDDEN = "Two and two are four, says [e-mail]."
ANSWER = [" It", " is", " four"]


@pytest.fixture
def answered(stub: str, start: Start) -> Answered:
    """The outputs of a job at a server of unknown kind, which follows the script."""

    def run_job(running: Job) -> list[StepOutput]:
        start(server_at(stub, Kind.OTHER)).submit(running)
        return outputs_of(running)

    return run_job


def thinking(tokenizer: Tokenizer, is_open: bool = False) -> Thinking:
    begin, end = "<think>", "</think>"
    begin_ids, end_ids = tuple(tokenizer.encode(begin)), tuple(tokenizer.encode(end))
    return Thinking(begin=begin, end=end, begin_ids=begin_ids, end_ids=end_ids, is_open=is_open)


def thinking_job(tokenizer: Tokenizer, found: Thinking | None) -> Job:
    made = job(tokenizer, max_tokens=60)
    return Job(msgspec.structs.replace(made.request, thinking=found), made.stop_ids, made.clock)


def thought(text: str, field: str, is_chat: bool) -> bytes:
    told = {field: text}
    choice: dict[str, object] = {"delta": told} if is_chat else {"text": "", **told}
    return event({"choices": [choice]})


def word(text: str, reason: str | None = None) -> bytes:
    logprobs = {"tokens": [text], "token_logprobs": [-0.1], "top_logprobs": [{text: -0.1}]}
    return event({"choices": [{"text": text, "logprobs": logprobs, "finish_reason": reason}]})


def words(*texts: str, reasoning: str = "", is_said: bool = True) -> bytes:
    """A chunk of several tokens with probabilities. reasoning: thinking in its field."""
    logprobs = {
        "tokens": list(texts),
        "token_logprobs": [-0.1] * len(texts),
        "top_logprobs": [{each: -0.1} for each in texts],
    }
    field = {"reasoning": reasoning} if reasoning else {}
    return event({"choices": [{"text": "".join(texts) if is_said else "", "logprobs": logprobs, **field}]})


def usage(num_output: int) -> bytes:
    return event({"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": num_output}})


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("is_chat", [False, True])
@pytest.mark.parametrize("is_open", [False, True])
def test_it_is_split_checked_and_counted_like_thinking_in_tags(
    script: Script, answered: Answered, tokenizer: Tokenizer, guard: Guard, field: str, is_chat: bool, is_open: bool
) -> None:
    told = [thought(each, field, is_chat) for each in THOUGHT]
    script.stream(*told, *map(word, ANSWER[:-1]), word(ANSWER[-1], "stop"), usage(19), DONE)
    found = thinking(tokenizer, is_open)
    outputs = answered(thinking_job(tokenizer, found))
    tokens = tokens_of(outputs)
    events = run(OutputGuard(guard, RequestClock(unix_us()), (), is_guarded=True, thinking=found), tokens)
    assert said(events) == (HIDDEN, "".join(ANSWER).lstrip())
    assert (ended(events).num_tokens, ended(events).cause) == (len(tokens) - len(ANSWER), "model")
    assert outputs[-1].num_output_told == 19
    hidden, shown = tokens[: -len(ANSWER)], tokens[-len(ANSWER) :]
    assert {(each.is_shown, each.logprob, each.candidate_ids, each.step_us) for each in hidden} == {
        (False, None, (), None)
    }
    assert all(each.is_shown and each.logprob is not None for each in shown)


def test_an_end_within_the_thinking_is_no_end_of_it(
    script: Script, answered: Answered, tokenizer: Tokenizer, guard: Guard
) -> None:
    cut = event({"choices": [{"text": "", "finish_reason": "length"}]})
    script.stream(thought("Two", "reasoning", False), cut, DONE)
    found = thinking(tokenizer)
    outputs = answered(thinking_job(tokenizer, found))
    events = run(OutputGuard(guard, RequestClock(unix_us()), (), is_guarded=True, thinking=found), tokens_of(outputs))
    assert (said(events), ended(events).cause, outputs[-1].finish_reason) == (("Two", ""), "cut", "length")


def test_an_answer_without_the_field_is_as_before(script: Script, answered: Answered, tokenizer: Tokenizer) -> None:
    script.stream(*map(word, ANSWER[:-1]), word(ANSWER[-1], "stop"), usage(3), DONE)
    outputs = answered(thinking_job(tokenizer, thinking(tokenizer)))
    assert [token.piece.decode() for token in tokens_of(outputs)] == ANSWER
    assert outputs[-1].num_output_told is None


def test_a_model_whose_template_names_no_tags_has_none(
    script: Script, answered: Answered, tokenizer: Tokenizer
) -> None:
    script.stream(thought("Two", "reasoning", False), word(ANSWER[0], "stop"), DONE)
    outputs = answered(thinking_job(tokenizer, None))
    assert [token.piece.decode() for token in tokens_of(outputs)] == ANSWER[:1]


def test_an_answer_that_went_over_to_another_worker_goes_on_within_its_thinking(
    script: Script, answered: Answered, tokenizer: Tokenizer
) -> None:
    found = thinking(tokenizer)
    before = (*found.begin_ids, *tokenizer.encode("Two"))
    script.stream(thought(" and two", "reasoning", False), word(ANSWER[0], "stop"), DONE)
    made = thinking_job(tokenizer, found)
    outputs = answered(Job(made.request, made.stop_ids, made.clock, output_ids=before))
    assert b"".join(token.piece for token in tokens_of(outputs)) == b" and two</think> It"
    assert script.body["prompt"][-len(before) :] == list(before)


def test_tokens_with_probabilities_are_the_servers_own(
    script: Script, answered: Answered, tokenizer: Tokenizer
) -> None:
    own = {"tokens": [" two"], "token_logprobs": [-0.1], "top_logprobs": [{" two": -0.1}]}
    known = event({"choices": [{"delta": {"reasoning": " two"}, "logprobs": own}]})
    script.stream(thought("Two and", "reasoning", True), known, word(ANSWER[0], "stop"), DONE)
    tokens = tokens_of(answered(thinking_job(tokenizer, thinking(tokenizer))))
    assert [(token.piece, token.is_shown) for token in tokens if token.piece in (b" two", b" It")] == [
        (b" two", True),
        (b" It", True),
    ]


def test_the_servers_own_count_is_paid(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer, guard: Guard
) -> None:
    script.stream(thought(THOUGHT[0], "reasoning", False), word(ANSWER[0], "stop"), usage(19), DONE)
    asked = thinking_job(tokenizer, thinking(tokenizer)).request
    log = MemoryEventLog()
    backend = start(server_at(stub, Kind.OTHER))
    services = WorkerServices("test", backend, tokenizer, Grammars(tokenizer), guard, log)
    assert Generation(services, asked, time.monotonic_ns()).run() is None
    events = [event for frame in log.read(asked.request_id) for event in frame.events]
    assert isinstance(events[-1], GenerationFinished)
    assert (events[-1].usage.output, said(events)[0]) == (19, THOUGHT[0])


def test_an_answer_that_the_guard_ends_is_paid_up_to_its_limit(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer, guard: Guard
) -> None:
    script.stream(*[thought(" two", "reasoning", False)] * 70, *map(word, ANSWER), ends="wait")
    asked = thinking_job(tokenizer, thinking(tokenizer)).request
    asked = msgspec.structs.replace(asked, params=msgspec.structs.replace(asked.params, stop=("is",)))
    log = MemoryEventLog()
    backend = start(server_at(stub, Kind.OTHER))
    services = WorkerServices("test", backend, tokenizer, Grammars(tokenizer), guard, log)
    assert Generation(services, asked, time.monotonic_ns()).run() is None
    events = [event for frame in log.read(asked.request_id) for event in frame.events]
    assert isinstance(events[-1], GenerationFinished)
    assert (events[-1].finish_reason, events[-1].usage.output) == ("stop", asked.params.max_tokens)


def test_an_end_tag_among_several_tokens_is_the_end(script: Script, answered: Answered, tokenizer: Tokenizer) -> None:
    found = thinking(tokenizer)
    tag = [tokenizer.piece(token).decode() for token in found.end_ids]
    script.stream(thought("Two", "reasoning", False), words(" and", *tag, " It"), word(" is", "stop"), DONE)
    outputs = answered(thinking_job(tokenizer, found))
    assert text_of(outputs) == "<think>Two and</think> It is"


def test_an_end_tag_with_the_last_thinking_is_the_end(script: Script, answered: Answered, tokenizer: Tokenizer) -> None:
    found = thinking(tokenizer)
    tag = [tokenizer.piece(token).decode() for token in found.end_ids]
    last = words(" and", *tag, reasoning=" and", is_said=False)
    script.stream(thought("Two", "reasoning", False), last, word(ANSWER[0], "stop"), DONE)
    assert text_of(answered(thinking_job(tokenizer, found))) == "<think>Two and</think> It"


def test_an_end_tag_may_be_divided_among_chunks(script: Script, answered: Answered, tokenizer: Tokenizer) -> None:
    found = thinking(tokenizer)
    first, *rest = [tokenizer.piece(token).decode() for token in found.end_ids]
    last = words(" and", first, reasoning=" and", is_said=False)
    script.stream(thought("Two", "reasoning", False), last, words(*rest, " It"), word(" is", "stop"), DONE)
    assert text_of(answered(thinking_job(tokenizer, found))) == "<think>Two and</think> It is"


@pytest.mark.parametrize("has_tags", [False, True])
def test_tokens_of_thinking_that_has_no_place_are_left_out(
    script: Script, answered: Answered, tokenizer: Tokenizer, has_tags: bool
) -> None:
    late = words(" two", reasoning=" two", is_said=False)
    script.stream(word(ANSWER[0]), late, word(ANSWER[1], "stop"), DONE)
    outputs = answered(thinking_job(tokenizer, thinking(tokenizer) if has_tags else None))
    assert text_of(outputs) == "".join(ANSWER[:2])
    assert outputs[-1].usage.output == 2


@pytest.mark.parametrize("has_tags", [False, True])
def test_thinking_without_end_is_ended(
    script: Script, answered: Answered, tokenizer: Tokenizer, has_tags: bool
) -> None:
    script.stream(*[thought(" two", "reasoning", False)] * 300, ends="wait")
    outputs = answered(thinking_job(tokenizer, thinking(tokenizer) if has_tags else None))
    end = outputs[-1]
    assert end.finish_reason == "length" and script.is_closed.wait(60)
    assert end.usage.output <= 60 and (end.num_output_told or 0) <= 60


@pytest.mark.parametrize(("told", "paid"), [(19, 19), (2, 60), (61, 60)])
def test_a_count_that_cannot_be_true_is_not_taken(
    script: Script, answered: Answered, tokenizer: Tokenizer, told: int, paid: int
) -> None:
    thoughts = [thought(" two", "reasoning", False)] * 70
    script.stream(*thoughts, *map(word, ANSWER[:-1]), word(ANSWER[-1], "stop"), usage(told), DONE)
    end = answered(thinking_job(tokenizer, thinking(tokenizer)))[-1]
    assert (end.num_output_told, end.usage.output) == (paid, 60)


def text_of(outputs: list[StepOutput]) -> str:
    return b"".join(token.piece for token in tokens_of(outputs)).decode()
