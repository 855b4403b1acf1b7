"""The simulated run: real policy, simulated time. Whatever comes, everybody is answered and no block is lost."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.codec import decode_simulation, encode_simulation
from inference.protocol.simulation import SimulatedArrival, SimulatedBlock, Simulation, SimulationRequest
from inference.simulation.simulator import CannotSimulate, Simulator

BLOCK_SIZE = 16


def arrival(num_prompt: int, num_answer: int = 4, at_us: int = 0, first: int = 0, user: str = "a") -> SimulatedArrival:
    prompt = tuple(range(first, first + num_prompt))
    answer = tuple(range(first + num_prompt, first + num_prompt + num_answer))
    return SimulatedArrival(at_us=at_us, user=user, prompt=prompt, answer=answer)


def request(*arrivals: SimulatedArrival, **fields: object) -> SimulationRequest:
    settings: dict[str, object] = {
        "num_blocks": 64,
        "max_num_running": 8,
        "token_budget": 512,
        "mixed_budget": 192,
        "step_us": 5000,
        "token_us": 300,
        "has_blocks": True,
    }
    return SimulationRequest(arrivals=arrivals, **(settings | fields))  # type: ignore[arg-type]


def run(*arrivals: SimulatedArrival, **fields: object) -> Simulation:
    return Simulator(request(*arrivals, **fields)).run()


def blocks_after(simulation: Simulation, num_blocks: int) -> list[list[SimulatedBlock]]:
    """All blocks after each step, as a reader of the changes sees them."""
    now = [
        SimulatedBlock(block=block, state="free", num_owners=0, arrival=None, start=0, num_tokens=0)
        for block in range(num_blocks)
    ]
    found = []
    for step in simulation.steps:
        for changed in step.blocks:
            now[changed.block] = changed
        found.append(list(now))
    return found


ARRIVALS = st.lists(
    st.builds(
        arrival,
        num_prompt=st.integers(1, 200),
        num_answer=st.integers(1, 30),
        at_us=st.integers(0, 300_000),
        first=st.sampled_from([0, 0, 1000]),
        user=st.sampled_from(["a", "b"]),
    ),
    min_size=1,
    max_size=8,
)


@given(ARRIVALS, st.integers(15, 40), st.integers(1, 8), st.booleans())
def test_everybody_is_answered_and_every_token_is_accounted_for(
    arrivals: list[SimulatedArrival], num_blocks: int, max_num_running: int, has_cache: bool
) -> None:
    simulation = run(*arrivals, num_blocks=num_blocks, max_num_running=max_num_running, has_cache=has_cache)
    assert decode_simulation(encode_simulation(simulation)) == simulation
    for each, story in zip(arrivals, simulation.stories, strict=True):
        usage = story.usage
        assert usage.output == len(each.answer)
        assert usage.uncached_input + usage.cache_read == len(each.prompt)
        assert each.at_us <= story.admitted_us < story.first_token_us <= story.finished_us
        if not has_cache:
            assert usage.cache_read == 0 or any(other is not each and other.prompt == each.prompt for other in arrivals)
    for before, after in zip(simulation.steps, simulation.steps[1:], strict=False):
        assert before.at_us + before.duration_us <= after.at_us
    for step, blocks in zip(simulation.steps, blocks_after(simulation, num_blocks), strict=True):
        assert len({share.arrival for share in step.shares} & set(step.waiting)) == 0
        assert len(step.shares) <= max_num_running
        assert step.duration_us == 5000 + 300 * sum(share.num_tokens for share in step.shares)
        assert sorted(step.idle) == [block.block for block in blocks if block.state == "cached"]
        for block in blocks:
            assert (block.num_owners > 0) == (block.state == "owned")
            assert 0 <= block.num_tokens <= BLOCK_SIZE
            assert block.start % BLOCK_SIZE == 0
            if block.state == "cached":
                assert block.num_tokens == BLOCK_SIZE
    assert all(block.num_owners == 0 for block in blocks_after(simulation, num_blocks)[-1])


def test_a_follow_up_reads_what_it_has_in_common_and_another_user_does_not() -> None:
    first = arrival(64, 16)
    again = SimulatedArrival(
        at_us=10_000_000, user="a", prompt=(*first.prompt, *first.answer, *range(900, 920)), answer=(1,)
    )
    stranger = msgspec.structs.replace(again, user="b", at_us=20_000_000)
    usages = [story.usage for story in run(first, again, stranger).stories]
    # The last token of an answer is never computed: its block is not full.
    assert [usage.cache_read for usage in usages] == [0, 64, 0]
    uncached = run(first, again, stranger, has_cache=False)
    assert [story.usage.cache_read for story in uncached.stories] == [0, 0, 0]
    assert uncached.stories[1].first_token_us > run(first, again).stories[1].first_token_us


def test_one_after_the_other_takes_longer_than_together() -> None:
    arrivals = [arrival(32, 32, first=100 * index) for index in range(6)]
    alone, together = (run(*arrivals, max_num_running=num).stories for num in (1, 6))
    assert max(each.finished_us for each in together) < max(each.finished_us for each in alone) / 2


def test_memory_that_runs_out_preempts_and_all_is_answered_all_the_same() -> None:
    simulation = run(*(arrival(64, 64, first=1000 * index) for index in range(3)), num_blocks=16)
    assert any(note.kind == "preempted" for step in simulation.steps for note in step.notes)
    assert sum(story.num_preemptions for story in simulation.stories) > 0


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (request(), "arrivals"),
        (request(*[arrival(1)] * 49), "arrivals"),
        (request(arrival(0)), "arrivals"),
        (request(arrival(1, 0)), "arrivals"),
        (request(arrival(1, 257)), "arrivals"),
        (request(arrival(70_000)), "arrivals"),
        (request(arrival(1, at_us=-1)), "arrivals"),
        (request(arrival(1, first=-1)), "arrivals"),
        (request(arrival(1, user="")), "arrivals"),
        (request(arrival(1), num_blocks=0), "num_blocks"),
        (request(arrival(1), num_blocks=129), "num_blocks"),
        (request(arrival(1), num_blocks=5000, has_blocks=False), "num_blocks"),
        (request(arrival(1), max_num_running=0), "max_num_running"),
        (request(arrival(1), mixed_budget=8), "mixed_budget"),
        (request(arrival(1), mixed_budget=513), "mixed_budget"),
        (request(arrival(1), step_us=0), "step_us"),
        (request(arrival(1), token_us=-1), "token_us"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(wrong: SimulationRequest, field: str) -> None:
    problem = wrong.problem()
    assert problem is not None and problem.field == field
    with pytest.raises(CannotSimulate, match=field):
        Simulator(wrong)


def test_a_request_that_could_never_fit_is_refused_with_what_to_do() -> None:
    with pytest.raises(CannotSimulate, match=r"needs 5 blocks for its 68 tokens, and there are 4"):
        Simulator(request(arrival(64), num_blocks=4))


def test_a_run_that_would_hold_the_worker_up_is_refused() -> None:
    slow = request(
        *[arrival(1000, user=f"u{n}") for n in range(48)],
        token_budget=2,
        mixed_budget=2,
        num_blocks=4096,
        max_num_running=1,
        has_blocks=False,
    )
    with pytest.raises(CannotSimulate, match="more than 4,096 steps"):
        Simulator(slow).run()
