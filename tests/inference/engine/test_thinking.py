"""Thinking that a budget or a person ends: the tag is forced, and the answer follows it."""

from __future__ import annotations

import msgspec
import pytest

from inference.protocol.events import TokenSampled
from inference.protocol.request import GenerationRequest, StepCommand
from inference.protocol.thinking import Thinking
from tests.inference.engine.fakes import FakeDecoder, Run, StoppedClock, engine, prompt, request, run

END = (48, 49)
OPEN = Thinking(begin="40 41 ", end="48 49 ", begin_ids=(40, 41), end_ids=END, is_open=True)


def thinking(budget: int | None, num_output: int = 24, form: Thinking = OPEN) -> GenerationRequest:
    asked = request("a", prompt(1, 20), num_output, thinking=form)
    return msgspec.structs.replace(asked, params=msgspec.structs.replace(asked.params, thinking_tokens=budget))


def forced(found: Run) -> list[tuple[int, int, str]]:
    tokens = [event for event in found.events if isinstance(event, TokenSampled)]
    return [(token.position, token.id, token.chosen_by) for token in tokens if token.chosen_by != "draw"]


@pytest.mark.parametrize("budget", [0, 5])
def test_a_budget_ends_the_thinking(budget: int) -> None:
    found = run(engine(FakeDecoder()), thinking(budget))["a"]
    assert forced(found) == [(budget, 48, "budget"), (budget + 1, 49, "budget")]
    assert len(found.ids) == 24
    tags = [event for event in found.events if isinstance(event, TokenSampled) and event.chosen_by == "budget"]
    effects = [effect for tag in tags for effect in tag.processors or () if effect.name == "thinking"]
    assert [effect.num_candidates for effect in effects] == [1, 1]


def test_no_budget_forces_nothing() -> None:
    free = msgspec.structs.replace(thinking(None), thinking=None)
    assert run(engine(FakeDecoder()), thinking(None))["a"].ids == run(engine(FakeDecoder()), free)["a"].ids


def test_an_answer_without_thinking_is_left_alone() -> None:
    closed = msgspec.structs.replace(OPEN, is_open=False)
    assert forced(run(engine(FakeDecoder()), thinking(2, form=closed))["a"]) == []


def test_a_person_ends_the_thinking_while_it_runs() -> None:
    served, found = engine(FakeDecoder()), Run()
    served.submit(thinking(None), frozenset(), StoppedClock())
    while len(found.ids) < 3:
        for output in served.step():
            found.add(output)
    served.take("a", StepCommand(position=3, ends_thinking=True))
    while served.has_work():
        for output in served.step():
            found.add(output)
    assert forced(found) == [(3, 48, "answer_now"), (4, 49, "answer_now")]


def test_drafts_change_nothing() -> None:
    plain = run(engine(FakeDecoder(period=4)), thinking(7))["a"]
    assert run(engine(FakeDecoder(period=4), has_drafts=True), thinking(7))["a"].ids == plain.ids


@pytest.mark.parametrize("num_tokens", range(1, 12))
def test_another_attempt_goes_on_alike(num_tokens: int) -> None:
    whole = run(engine(FakeDecoder()), thinking(6))["a"]
    served, found = engine(FakeDecoder()), Run()
    served.submit(thinking(6), frozenset(), StoppedClock(), output_ids=tuple(whole.ids[:num_tokens]))
    while served.has_work():
        for output in served.step():
            found.add(output)
    assert found.ids == whole.ids[num_tokens:]
