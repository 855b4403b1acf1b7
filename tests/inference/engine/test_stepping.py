"""Step mode: an answer whose tokens are chosen one by one, and what that means for the others."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.engine.engine import Engine
from inference.engine.scheduling.scheduler import EngineOverloaded, Limits
from inference.protocol.events import AnyEvent, GenerationPreempted, TokenProposed, TokenSampled
from inference.protocol.request import GenerationRequest, StepCommand
from tests.inference.engine.fakes import FakeDecoder, Run, StoppedClock, engine, prompt, request, run


def stepped(name: str, num_prompt: int = 20, num_output: int = 8) -> GenerationRequest:
    return msgspec.structs.replace(request(name, prompt(1, num_prompt), num_output), is_stepped=True)


def begin(served: Engine, *requests: GenerationRequest) -> dict[str, Run]:
    for each in requests:
        served.submit(each, frozenset(), StoppedClock())
    return {each.request_id: Run() for each in requests}


def go_on(served: Engine, runs: dict[str, Run]) -> None:
    """As long as there is something to do."""
    while served.has_work():
        for output in served.step():
            runs[output.request_id].add(output)
        served.check_integrity()


def proposal(run: Run) -> TokenSampled:
    last = next(event for event in reversed(run.events) if isinstance(event, TokenProposed | TokenSampled))
    assert isinstance(last, TokenProposed)
    return last.token


def sampled(events: list[AnyEvent]) -> list[TokenSampled]:
    return [event for event in events if isinstance(event, TokenSampled)]


def test_accepting_every_draw_gives_the_answer_that_runs_by_itself() -> None:
    asked = stepped("a")
    served = engine(FakeDecoder(period=4), has_drafts=True)
    alone = run(engine(FakeDecoder(period=4)), msgspec.structs.replace(asked, is_stepped=False))["a"]
    runs = begin(served, asked)
    for position in range(8):
        go_on(served, runs)
        assert not served.has_work()
        token = proposal(runs["a"])
        assert (token.position, len(runs["a"].ids)) == (position, position)
        served.take("a", StepCommand(position=position))
    go_on(served, runs)
    assert (runs["a"].ids, runs["a"].finish_reason) == (alone.ids, "length")
    assert runs["a"].usage.output == 8
    assert {token.chosen_by for token in sampled(runs["a"].events)} == {"draw"}


def test_another_candidate_is_recorded_as_chosen_and_read_by_what_follows() -> None:
    served = engine(FakeDecoder())
    runs = begin(served, stepped("a"))
    go_on(served, runs)
    drawn = proposal(runs["a"])
    other = next(token for token in drawn.candidate_ids if token != drawn.id)
    served.take("a", StepCommand(position=0, token_id=other, num_tokens=None))
    go_on(served, runs)
    first, *rest = sampled(runs["a"].events)
    assert (first.id, first.chosen_by, first.u, first.low, first.high) == (other, "person", drawn.u, None, None)
    place = drawn.candidate_ids.index(other)
    assert first.rank == 1 + sum(logit > drawn.candidate_logits[place] for logit in drawn.candidate_logits)
    fork = msgspec.structs.replace(stepped("f"), is_stepped=False, kept_ids=(other,))
    assert [token.id for token in rest] == run(engine(FakeDecoder()), fork)["f"].ids


def test_it_runs_on_for_so_many_tokens_and_commands_that_come_late_are_void() -> None:
    served = engine(FakeDecoder())
    runs = begin(served, stepped("a"))
    go_on(served, runs)
    served.take("a", StepCommand(position=0, num_tokens=3))
    served.take("a", StepCommand(position=0))
    served.take("nobody", StepCommand(position=0))
    go_on(served, runs)
    assert (len(runs["a"].ids), proposal(runs["a"]).position) == (3, 3)
    served.take("a", StepCommand(position=3, num_tokens=None))
    served.step()
    served.take("a", StepCommand(position=0, num_tokens=0))
    go_on(served, runs)
    assert runs["a"].finish_reason is None
    assert proposal(runs["a"]).position < 7


def test_a_paused_sequence_takes_no_place_and_can_be_stopped() -> None:
    limits = Limits(max_num_running=1, token_budget=64, mixed_budget=32)
    served = engine(FakeDecoder(), limits=limits)
    runs = begin(served, stepped("paused"))
    go_on(served, runs)
    runs |= begin(served, request("other", prompt(2, 20), 5))
    go_on(served, runs)
    assert runs["other"].finish_reason == "length"
    served.cancel("paused")
    assert served.has_work()
    go_on(served, runs)
    assert (runs["paused"].finish_reason, runs["paused"].ids) == ("abort", [])


def test_so_many_may_be_in_step_mode_and_others_come_in_beside_them() -> None:
    limits = Limits(max_num_running=1, max_num_stepped=2, token_budget=64, mixed_budget=32)
    served = engine(FakeDecoder(), limits=limits)
    runs = begin(served, stepped("a"), stepped("b"))
    go_on(served, runs)
    with pytest.raises(EngineOverloaded, match="step mode"):
        begin(served, stepped("c"))
    runs |= begin(served, request("other", prompt(2, 20), 5))
    served.cancel("a")
    go_on(served, runs)
    assert runs["other"].finish_reason == "length"
    runs |= begin(served, stepped("c"))
    go_on(served, runs)
    assert proposal(runs["c"]).position == 0


def test_a_paused_sequence_keeps_its_blocks_where_they_would_not_be_enough() -> None:
    """Of 10 blocks it has 2 and another 4; who comes then needs 6, and one to spare for the other."""
    served = engine(FakeDecoder(), num_blocks=10)
    runs = begin(served, stepped("paused"))
    go_on(served, runs)
    runs |= begin(served, request("first", prompt(2, 60), 20))
    served.step()
    runs |= begin(served, request("second", prompt(3, 90), 5))
    go_on(served, runs)
    assert runs["second"].finish_reason == "length"
    assert not any(isinstance(event, GenerationPreempted) for event in runs["paused"].events)
    runs |= begin(served, request("third", prompt(4, 140), 5))
    go_on(served, runs)
    assert runs["third"].finish_reason == "length"
    assert any(isinstance(event, GenerationPreempted) for event in runs["paused"].events)


@settings(max_examples=40)
@given(st.data())
def test_paused_answers_give_up_their_blocks_first_and_lose_nothing(data: st.DataObject) -> None:
    """However little memory there is, and whatever is chosen when."""
    limits = Limits(max_num_running=data.draw(st.integers(1, 3)), token_budget=64, mixed_budget=32)
    served = engine(FakeDecoder(), num_blocks=data.draw(st.integers(5, 12)), limits=limits)
    asked = [stepped(f"s{n}", data.draw(st.integers(1, 30)), 12) for n in range(2)]
    others = [request(f"o{n}", prompt(n + 5, data.draw(st.integers(1, 30))), 12) for n in range(2)]
    runs = begin(served, *asked, *others)
    go_on(served, runs)
    assert all(runs[each.request_id].finish_reason == "length" for each in others)
    while open_runs := {name: each for name, each in runs.items() if each.finish_reason is None}:
        name = data.draw(st.sampled_from(sorted(open_runs)))
        num_tokens = data.draw(st.integers(1, 4))
        served.take(name, StepCommand(position=proposal(runs[name]).position, num_tokens=num_tokens))
        go_on(served, runs)
    for each in (*asked, *others):
        plain = msgspec.structs.replace(each, is_stepped=False)
        assert runs[each.request_id].ids == run(engine(FakeDecoder()), plain)[each.request_id].ids
