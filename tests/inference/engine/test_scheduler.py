"""Scheduling with plain integers: everybody finishes, the budget holds, nobody starves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.engine.scheduler import EngineOverloaded, Scheduler
from inference.engine.sequence import Sequence
from inference.protocol.request import GenerationRequest, SamplingParams


class StoppedClock:
    def at(self) -> int:
        return 0


def sequence(name: str, num_prompt: int, num_output: int) -> Sequence:
    request = GenerationRequest(
        request_id=name,
        attempt=1,
        model="m",
        prompt_ids=(5,) * num_prompt,
        params=SamplingParams(max_tokens=num_output),
        accepted_unix_us=0,
        cache_salt="",
    )
    return Sequence(request, frozenset({0}), StoppedClock(), window=10_000)


def run_step(scheduler: Scheduler) -> int:
    step = scheduler.schedule()
    for share in step:
        share.sequence.num_computed_tokens += share.num_tokens
        if not share.sequence.is_prefilling:
            share.sequence.accept(7)
    scheduler.remove_finished()
    return sum(share.num_tokens for share in step)


@given(st.lists(st.tuples(st.integers(1, 900), st.integers(1, 40)), min_size=1, max_size=30))
def test_all_finish_within_the_budget(sizes: list[tuple[int, int]]) -> None:
    scheduler = Scheduler(max_num_running=4, token_budget=64)
    sequences = [sequence(str(n), *size) for n, size in enumerate(sizes)]
    for each in sequences:
        scheduler.add(each)
    for _ in range(sum(prompt // 30 + output + 2 for prompt, output in sizes)):
        assert run_step(scheduler) <= 64
    assert not scheduler.running and not scheduler.waiting
    assert [len(each.output_ids) for each in sequences] == [output for _, output in sizes]


def test_a_long_prompt_does_not_stop_others_from_decoding() -> None:
    scheduler = Scheduler(token_budget=64)
    writing, long = sequence("writing", 1, 100), sequence("long", 1000, 1)
    scheduler.add(writing)
    run_step(scheduler)
    scheduler.add(long)
    for _ in range(5):
        before = len(writing.output_ids)
        run_step(scheduler)
        assert len(writing.output_ids) == before + 1
    assert 0 < long.num_computed_tokens < 1000


def test_a_full_queue_refuses() -> None:
    scheduler = Scheduler(max_num_running=1, max_num_waiting=2)
    for name in "ab":
        scheduler.add(sequence(name, 1, 1))
    with pytest.raises(EngineOverloaded, match="try again"):
        scheduler.add(sequence("c", 1, 1))


def test_the_first_reason_to_finish_stands() -> None:
    each = sequence("a", 1, 1)
    each.finish("abort")
    each.finish("stop")
    assert each.finish_reason == "abort"
