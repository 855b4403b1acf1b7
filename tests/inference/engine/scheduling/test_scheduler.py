"""Scheduling with plain integers: all finish, the budget holds, nobody starves, and it is fair between users."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.engine.scheduling.block_manager import BlockManager
from inference.engine.scheduling.prefix_cache import LruPrefixCache, NoPrefixCache
from inference.engine.scheduling.scheduler import EngineOverloaded, Limits, Scheduler
from inference.engine.scheduling.sequence import Sequence
from inference.protocol.request import FinishReason
from tests.inference.engine.fakes import SetClock, StoppedClock, marks, request
from tests.inference.engine.scheduling.simulator import (
    BLOCK_SIZE,
    DECODE_S,
    PREFILL_S,
    STEP_S,
    Arrival,
    Simulator,
    Story,
)

LIMITS = Limits(max_num_running=8, max_num_waiting=10_000, token_budget=64, mixed_budget=32)
LONGEST_STEP_S = STEP_S + PREFILL_S * LIMITS.mixed_budget + DECODE_S * LIMITS.max_num_running
ARRIVAL = st.builds(
    Arrival,
    at=st.floats(0, 3),
    num_prompt=st.integers(1, 150),
    num_output=st.integers(1, 40),
    user=st.sampled_from(["alice", "bob", "charlie"]),
    priority=st.integers(-2, 2),
    beginning=st.sampled_from(["", "x", "y"]),
    ttl=st.sampled_from(["none", "5m", "1h"]),
    num_answers=st.sampled_from([1, 1, 1, 3, 8]),
)


def finished(stories: list[Story]) -> bool:
    return all(story.sequence.finish_reason == "length" for story in stories)


def outputs_whole(stories: list[Story]) -> bool:
    """Every answer is of the length asked for (or fills the cache), its tokens in order: none lost, none twice."""
    for story in stories:
        sequence = story.sequence
        room = sequence.window - sequence.num_input_tokens
        num_asked = min(sequence.request.params.max_tokens, room)
        if sequence.output_ids != list(range(1, num_asked + 1)):
            return False
    return True


@settings(max_examples=60)
@given(st.lists(ARRIVAL, min_size=1, max_size=30), st.integers(48, 120))
def test_all_finish_whatever_comes(arrivals: list[Arrival], num_blocks: int) -> None:
    stories = Simulator(num_blocks, LIMITS).run(arrivals)
    assert len(stories) == sum(arrival.num_answers for arrival in arrivals)
    assert finished(stories) and outputs_whole(stories)
    for story in stories:
        check_usage(story)


def check_usage(story: Story) -> None:
    """The five never overlap and make up everything; what is paid as written was written, once."""
    sequence, usage = story.sequence, story.sequence.usage()
    numbers = msgspec.structs.astuple(usage)
    assert min(numbers) >= 0
    assert sum(numbers) == sequence.num_input_tokens + len(sequence.output_ids)
    num_written = usage.cache_write_5m + usage.cache_write_1h
    assert num_written <= story.num_kept * BLOCK_SIZE
    has_shared_a_part = sequence.num_cached_tokens % BLOCK_SIZE > 0  # of a block, which then is not its own to pay
    assert num_written == story.num_kept * BLOCK_SIZE or has_shared_a_part or story.num_preemptions
    assert sequence.request.cache_marks or not num_written


@settings(max_examples=30)
@given(st.lists(ARRIVAL, min_size=1, max_size=20), st.dictionaries(st.integers(0, 19), st.floats(0, 3), max_size=10))
def test_whatever_is_cancelled_leaves_no_block_behind(arrivals: list[Arrival], cancel: dict[int, float]) -> None:
    simulator = Simulator(60, LIMITS)
    stories = simulator.run(arrivals, cancel)
    assert all(story.sequence.finish_reason in ("length", "abort") for story in stories)
    assert simulator.scheduler.blocks.num_available == 60


@settings(max_examples=40)
@given(st.lists(ARRIVAL, min_size=1, max_size=12))
def test_answers_to_one_message_read_its_prompt_once(arrivals: list[Arrival]) -> None:
    """But for the last token, which each computes, and its block where the others have ended before one could begin.

    A sequence that is preempted for its place computes its last block again.
    """
    stories = [story for story in Simulator(5000, LIMITS).run(arrivals) if not story.num_preemptions]
    for index, arrival in enumerate(arrivals):
        *others, most = sorted([0, *(story.num_computed for story in stories if story.index == index)])
        assert most <= arrival.num_prompt and max(others, default=0) <= BLOCK_SIZE
    for story in stories:
        assert story.sequence.usage().cache_read == story.sequence.num_input_tokens - story.num_computed


@pytest.mark.parametrize("num_prompt", [1, 2, 3, 4, 5, 40, 200])
def test_answers_that_come_together_compute_only_the_last_token_again(num_prompt: int) -> None:
    leader, *followers = Simulator(100, LIMITS).run([Arrival(0, num_prompt, 9, num_answers=8)])
    assert leader.num_computed == num_prompt
    assert [follower.num_computed for follower in followers] == [1] * 7
    assert len({follower.token_times[0] for follower in followers}) == 1


def poisson(num_arrivals: int, rate: float, seed: int) -> list[Arrival]:
    generator, now, arrivals = random.Random(seed), 0.0, []
    for _ in range(num_arrivals):
        now += generator.expovariate(rate)
        arrivals.append(
            Arrival(
                now,
                num_prompt=generator.randrange(1, 120),
                num_output=generator.randrange(1, 60),
                user=f"user {generator.randrange(20)}",
                priority=generator.choice([-1, 0, 0, 0, 1]),
                beginning=generator.choice(["", "", "x", "y"]),
            )
        )
    return arrivals


@pytest.mark.slow
def test_thousands_of_arrivals_under_memory_pressure() -> None:
    stories = Simulator(100, LIMITS).run(poisson(3000, rate=8, seed=1))
    assert finished(stories) and outputs_whole(stories)
    num_preempted = sum(story.num_preemptions > 0 for story in stories)
    assert 30 < num_preempted < len(stories)
    for story in stories:
        if not story.num_preemptions and story.sequence.request.priority >= 0:  # a batch pauses
            assert story.longest_gap <= LONGEST_STEP_S + 1e-9


def test_the_same_arrivals_give_the_same_schedule() -> None:
    runs = [Simulator(60, LIMITS).run(poisson(200, rate=8, seed=2)) for _ in range(2)]
    assert [story.token_times for story in runs[0]] == [story.token_times for story in runs[1]]


def test_a_long_prompt_delays_no_answer_by_more_than_a_chunk() -> None:
    writing, long = Simulator(400, LIMITS).run([Arrival(0, 1, 100), Arrival(0.1, 1000, 1, "bob")])
    assert len(writing.token_times) == 100
    assert writing.longest_gap <= STEP_S + PREFILL_S * (LIMITS.mixed_budget - 1) + DECODE_S + 1e-9
    assert long.admitted_at is not None and long.admitted_at < writing.token_times[-1]


def test_a_short_prompt_of_another_user_does_not_wait_for_a_long_one() -> None:
    long, short = Simulator(1000, LIMITS).run([Arrival(0, 3000, 1), Arrival(0.1, 20, 1, "bob")])
    # The step it comes in, one that the equal claim of who was there first may still have, and its own.
    assert short.token_times[0] - short.arrived_at <= 3 * (STEP_S + PREFILL_S * LIMITS.token_budget)
    assert long.token_times[0] > short.token_times[0]


def served(stories: list[Story], user: str, until: float) -> int:
    """Weighted tokens that this user's requests had by then; prompts count when they are read."""
    mine = [story for story in stories if story.sequence.request.principal == user]
    decoded = sum(sum(at <= until for at in story.token_times) for story in mine)
    prompts = sum(s.sequence.num_input_tokens for s in mine if s.token_times and s.token_times[0] <= until)
    return prompts + 2 * decoded


def test_a_user_with_a_hundred_requests_is_given_no_more_than_one_with_a_few() -> None:
    many = [Arrival(0, 40, 20, "alice") for _ in range(200)]
    few = [Arrival(0.5, 40, 20, "bob") for _ in range(40)]
    stories = Simulator(200, LIMITS).run(many + few)
    over = max(story.token_times[-1] for story in stories if story.sequence.request.principal == "bob")
    start = served(stories, "alice", 0.5)
    alice, bob = served(stories, "alice", over) - start, served(stories, "bob", over)
    # VTC's bound: what a full batch may hold of one user's, either way.
    assert abs(alice - bob) <= 2 * LIMITS.max_num_running * (40 + 2 * 20)


def test_a_user_who_holds_every_place_gives_one_to_a_user_who_has_none() -> None:
    many = [Arrival(0, 40, 400, "alice") for _ in range(20)]
    (bob,) = [s for s in Simulator(800, LIMITS).run([*many, Arrival(0.5, 40, 3, "bob")]) if s.index == len(many)]
    # The step it comes in, one in which the earlier one of equals goes first, and its own.
    assert bob.token_times[0] - bob.arrived_at <= 3 * LONGEST_STEP_S


@pytest.mark.parametrize("num_before", [0, 2, 4, 6])
def test_a_place_is_given_up_once_and_not_taken_again(num_before: int) -> None:
    before = [Arrival(0, 40, 100, "bob") for _ in range(num_before)]
    many = [Arrival(0.95, 40, 200, "alice") for _ in range(7)]
    stories = Simulator(2000, LIMITS).run([*before, Arrival(0.01, 5, 400, "carol"), *many, Arrival(1.1, 40, 3, "bob")])
    assert finished(stories) and sum(story.num_preemptions for story in stories) <= 1


def test_a_place_is_not_taken_from_a_higher_priority() -> None:
    many = [Arrival(0, 40, 200, "alice", priority=2) for _ in range(8)]
    stories = Simulator(2000, LIMITS).run([*many, Arrival(0.5, 40, 3, "bob", priority=-2)])
    assert finished(stories) and not any(story.num_preemptions for story in stories)


def test_places_are_not_taken_from_users_who_have_one_each() -> None:
    stories = Simulator(400, LIMITS).run([Arrival(n / 1000, 40, 30, f"user {n}") for n in range(20)])
    assert finished(stories) and not any(story.num_preemptions for story in stories)


def test_the_first_to_come_is_the_first_served_for_equals() -> None:
    stories = Simulator(60, LIMITS).run([Arrival(n / 1000, 50, 5) for n in range(30)])
    firsts = [story.token_times[0] for story in stories]
    assert all(a <= b for a, b in pairwise(firsts))


def test_the_higher_priority_is_read_first() -> None:
    low, *high = Simulator(100, LIMITS).run([Arrival(0, 100, 30, priority=-1), *[Arrival(0, 100, 30, priority=1)] * 3])
    assert low.token_times[0] > max(story.token_times[0] for story in high)


def test_a_sequence_of_a_batch_pauses_while_another_runs() -> None:
    batch, usual = Arrival(0, 20, 200, "alice", priority=-1), Arrival(0.05, 20, 40, "bob")
    low, high = Simulator(100, LIMITS).run([batch, usual])
    assert finished([low, high]) and outputs_whole([low, high])
    beside = [at for at in low.token_times if high.token_times[0] <= at <= high.token_times[-1]]
    assert 4 <= len(beside) <= 6  # every eighth of 40 steps


def test_a_lower_priority_does_not_starve() -> None:
    urgent = [Arrival(n * 0.05, 100, 30, f"user {n % 3}", priority=2) for n in range(200)]
    patient, *others = Simulator(100, LIMITS).run([Arrival(0, 100, 30, "patient", priority=1), *urgent])
    assert finished([patient])
    assert patient.token_times[-1] < sorted(story.token_times[-1] for story in others)[40]


def test_a_batch_waits_while_all_places_are_wanted_and_then_ends() -> None:
    usual = [Arrival(n * 0.05, 100, 30, f"user {n % 3}") for n in range(200)]
    batched, *others = Simulator(100, LIMITS).run([Arrival(0, 100, 30, "patient", priority=-1), *usual])
    alone = Simulator(100, LIMITS).run(usual)
    assert finished([batched, *others])
    last, last_alone = (max(story.token_times[-1] for story in stories) for stories in (others, alone))
    assert last < 1.05 * last_alone


def test_the_lowest_then_the_youngest_is_preempted() -> None:
    stories = Simulator(45, LIMITS).run(
        [Arrival(0, 20, 60, priority=-1), Arrival(0.001, 20, 60), Arrival(0.002, 20, 60)]
    )
    assert finished(stories) and outputs_whole(stories)
    assert [story.num_preemptions > 0 for story in stories] == [True, False, False]
    oldest, _, youngest = Simulator(30, LIMITS).run([Arrival(n / 1000, 20, 60) for n in range(3)])
    assert oldest.num_preemptions == 0 < youngest.num_preemptions


def scheduler(limits: Limits, num_blocks: int = 100) -> Scheduler:
    return Scheduler(BlockManager(num_blocks, 4, NoPrefixCache()), limits)


def sequence(name: str, num_prompt: int = 1, num_output: int = 9, priority: int = 0) -> Sequence:
    ids = tuple(range(1, num_prompt + 1))
    return Sequence(request(name, ids, num_output, priority=priority), frozenset(), StoppedClock(), 400)


def test_a_full_queue_refuses() -> None:
    full = scheduler(Limits(max_num_waiting=2))
    for name in "ab":
        full.add(sequence(name))
    with pytest.raises(EngineOverloaded, match="try again"):
        full.add(sequence("c"))
    assert [full.num_ahead(name) for name in "ab"] == [0, 1]
    full.schedule()
    full.add(sequence("c"))


def run_step(scheduler: Scheduler) -> list[tuple[str, int]]:
    step = scheduler.schedule()
    for share in step.shares:
        share.sequence.advance(share.num_tokens)
        if share.num_logits:
            share.sequence.accept(7)
        scheduler.store(share.sequence)
    scheduler.remove_finished()
    scheduler.check_integrity()
    return [(share.sequence.request.request_id, share.num_rows) for share in step.shares]


def test_drafts_are_verified_only_while_no_prompt_is_to_be_read() -> None:
    alone = scheduler(LIMITS)
    writer = sequence("a")
    alone.add(writer)
    run_step(alone)
    writer.drafts = (1, 2, 3)
    assert run_step(alone) == [("a", 4)]
    alone.add(sequence("b", 100))
    assert run_step(alone) == [("a", 1), ("b", 31)]


def test_nobody_is_preempted_for_a_draft() -> None:
    tight = scheduler(LIMITS, num_blocks=3)
    first, second = sequence("a", 3), sequence("b", 3)
    for each in (first, second):
        tight.add(each)
    run_step(tight)
    first.drafts = (1, 2)
    assert run_step(tight) == [("a", 1), ("b", 1)]


def test_a_sequence_that_waits_for_its_mask_keeps_its_place_and_takes_part_in_no_step() -> None:
    full, late = scheduler(Limits(max_num_running=1)), sequence("a")
    for each in (late, sequence("b")):
        full.add(each)
    assert run_step(full) == [("a", 1)]
    late.is_awaiting_mask = True
    assert run_step(full) == []
    late.is_awaiting_mask = False
    assert run_step(full) == [("a", 1)]


def two_in_tight_memory() -> tuple[Scheduler, Sequence, Sequence]:
    """An older and a younger sequence that decode, in a memory that does not hold both to their end."""
    tight, older = scheduler(LIMITS, num_blocks=4), sequence("a", 3, num_output=12)
    younger = Sequence(request("b", (7, 8, 9), 12), frozenset(), StoppedClock(), 400)
    for each in (older, younger):
        tight.add(each)
    assert run_step(tight) == [("a", 3), ("b", 3)]
    return tight, older, younger


def test_a_sequence_that_waits_for_its_mask_is_preempted_by_its_rank() -> None:
    tight, late, younger = two_in_tight_memory()
    for _ in range(4):
        run_step(tight)
    late.is_awaiting_mask = True
    for _ in range(20):
        run_step(tight)
    assert (late.num_preemptions, younger.num_preemptions, younger.finish_reason) == (0, 1, None)
    late.is_awaiting_mask = False
    assert run_step(tight)[0] == ("a", 1)


def test_a_sequence_that_lost_its_blocks_while_it_waits_for_its_mask_holds_up_no_other() -> None:
    tight, older, late = two_in_tight_memory()
    late.is_awaiting_mask = True
    for _ in range(11):
        run_step(tight)
    assert (older.finish_reason, late.num_preemptions) == ("length", 1)
    tight.add(sequence("c", 3))
    assert run_step(tight) == [("c", 3)]
    late.is_awaiting_mask = False
    assert run_step(tight) == [("c", 1), ("b", 3)]


def test_drafts_of_others_go_on_while_a_sequence_waits_for_its_first_mask() -> None:
    both, late, writer = scheduler(LIMITS), sequence("a", 3), sequence("b")
    both.add(late)
    both.schedule()
    late.is_awaiting_mask = True
    both.add(writer)
    run_step(both)
    writer.drafts = (1, 2, 3)
    assert run_step(both) == [("b", 4)]


def like(name: str, other: Sequence, **fields: object) -> Sequence:
    same = msgspec.structs.replace(other.request, request_id=name, **fields)
    return Sequence(same, frozenset(), StoppedClock(), 400)


def test_who_waits_for_a_prompt_that_is_being_read_holds_up_nobody() -> None:
    busy, first = scheduler(LIMITS), sequence("a", 100)
    other = Sequence(request("c", (7,) * 50), frozenset(), StoppedClock(), 400)
    for each in (first, like("b", first), other):
        busy.add(each)
    assert run_step(busy) == [("a", 64)]
    assert run_step(busy) == [("a", 36), ("c", 28)]
    assert run_step(busy) == [("a", 1), ("b", 1), ("c", 22)]


@pytest.mark.parametrize("reason", ["abort", "error"])
def test_who_waits_goes_on_alone_when_the_reader_ends(reason: FinishReason) -> None:
    busy, first = scheduler(LIMITS), sequence("a", 100)
    for each in (first, like("b", first)):
        busy.add(each)
    assert run_step(busy) == [("a", 64)]
    first.finish(reason)
    busy.remove_finished()
    assert run_step(busy) == [("b", 64)]


def test_other_principals_neither_wait_nor_share() -> None:
    busy, first = scheduler(LIMITS), sequence("a", 20)
    for each in (first, like("b", first, principal="bob")):
        busy.add(each)
    assert run_step(busy) == [("a", 20), ("b", 20)]


def test_nobody_waits_for_one_whose_turn_comes_later() -> None:
    busy, first = scheduler(LIMITS), sequence("a", 100, priority=-1)
    busy.add(first)
    assert run_step(busy) == [("a", 64)]
    busy.add(like("b", first, priority=1))
    assert run_step(busy) == [("b", 64)]


def test_a_common_beginning_is_waited_for_only_as_far_as_it_goes() -> None:
    cached = Scheduler(BlockManager(100, 4, LruPrefixCache(SetClock())), LIMITS)
    first = sequence("a", 100)
    other = Sequence(request("b", (*range(1, 11), *[99] * 20)), frozenset(), StoppedClock(), 400)
    for each in (first, other):
        cached.add(each)
    assert run_step(cached) == [("a", 64)]
    assert run_step(cached) == [("a", 36), ("b", 22)]


def test_a_step_that_was_too_large_is_halved_and_grows_back() -> None:
    shrunk = scheduler(LIMITS)
    for name in "abcd":
        shrunk.add(sequence(name, num_output=300))
    shrunk.schedule()
    assert shrunk.shrink(4)
    assert sorted(name for name, _ in run_step(shrunk)) == ["a", "b"]
    assert not shrunk.shrink(1)
    for _ in range(64):
        assert len(run_step(shrunk)) == 1
        shrunk.recover()
    assert len(run_step(shrunk)) == 2


def test_the_first_reason_to_finish_stands() -> None:
    each = sequence("a")
    each.finish("abort")
    each.finish("stop")
    assert each.finish_reason == "abort"


@dataclass
class Ticking:
    """A clock on which every look takes a second."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def test_a_prompt_is_admitted_by_what_one_look_found_however_soon_that_is_out_of_date() -> None:
    nums_found = set()
    for seconds in range(285, 305):
        clock = Ticking()
        tight = Scheduler(BlockManager(7, 4, LruPrefixCache(clock)), LIMITS)
        ids = tuple(range(1, 14))
        first, writer, reader = (
            Sequence(
                request(name, prompt, 9, cache_marks=marks(prompt, "5m"), priority=priority),
                frozenset(),
                StoppedClock(),
                400,
            )
            for name, prompt, priority in (("a", ids[:5], 0), ("b", ids, 1), ("c", (*ids[:12], 99), 0))
        )
        for each in (first, writer):  # who has the higher priority does not wait for what the other reads
            tight.add(each)
            tight.schedule()
        for each in (first, writer):
            each.advance(each.num_input_tokens)
            tight.store(each)
        writer.accept(7)
        first.finish("abort")
        tight.remove_finished()  # nobody uses the first block that is known now, but its successors are in use
        clock.now += seconds
        tight.add(reader)
        tight.schedule()
        tight.check_integrity()
        nums_found.add(reader.num_cached_tokens)
    assert nums_found == {0, 12}


def beside_a_batch(limits: Limits, num_blocks: int, num_preemptions: int = 0) -> list[list[tuple[str, int]]]:
    """The first steps after a prompt of 40 tokens has come to a batch's answer."""
    shared, batched = scheduler(limits, num_blocks), sequence("batched", 40, 60, priority=-1)
    batched.num_preemptions = num_preemptions
    shared.add(batched)
    for _ in range(3):
        run_step(shared)
    shared.add(sequence("usual", 40, 20))
    return [run_step(shared) for _ in range(3)]


@pytest.mark.parametrize("num_preemptions", [0, 5])
def test_a_batch_gives_up_its_blocks_for_a_prompt_however_often_it_did(num_preemptions: int) -> None:
    first, *_ = beside_a_batch(LIMITS, 14, num_preemptions)
    assert [name for name, _ in first] == ["usual"]


def test_a_batch_gives_up_its_place_for_a_prompt() -> None:
    first, *_ = beside_a_batch(Limits(max_num_running=1, token_budget=64, mixed_budget=32), 100)
    assert [name for name, _ in first] == ["usual"]


def test_a_waiting_batch_keeps_no_answer_from_guesses() -> None:
    shared, writer = scheduler(LIMITS), sequence("usual")
    shared.add(writer)
    run_step(shared)
    shared.add(sequence("batched", 100, priority=-1))
    writer.drafts = (1, 2, 3)
    assert run_step(shared) == [("usual", 4)]
