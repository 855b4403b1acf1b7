"""The engine on a decoder whose answer depends on every block being where it should be."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from inference.engine.engine import Engine, PromptTooLong
from inference.engine.scheduling.prefix_cache import LruPrefixCache, NoPrefixCache
from inference.engine.scheduling.scheduler import Limits
from inference.models.blocks import BLOCK_SIZE
from inference.protocol.events import (
    AnyEvent,
    BatchComposed,
    CacheEvicted,
    CacheLookedUp,
    CacheStored,
    DraftVerified,
    GenerationPreempted,
    PrefillAdvanced,
    TokenSampled,
)
from inference.protocol.request import CacheMark, GenerationRequest, SamplingParams, Usage
from inference.sampling.vocabulary import Summary, summarise
from tests.inference.engine.fakes import FakeDecoder, Run, SetClock, StoppedClock, engine, marks, prompt, request, run

LIMITS = Limits(max_num_running=8, token_budget=64, mixed_budget=32)


def alone(ids: tuple[int, ...], num_output: int = 8) -> list[int]:
    """The answer when nothing is shared, cached, guessed or chunked."""
    plain = engine(FakeDecoder(), cache=NoPrefixCache())
    return run(plain, request("a", ids, num_output))["a"].ids


def test_a_second_turn_computes_only_what_is_new() -> None:
    decoder = FakeDecoder()
    served = engine(decoder)
    first = prompt(1, 70)
    one = run(served, request("one", first, 20))["one"]
    second = (*first, *one.ids, *prompt(2, 15))
    decoder.num_computed = 0
    two = run(served, request("two", second, 1))["two"]
    num_known = (len(first) + len(one.ids) - 1) // BLOCK_SIZE * BLOCK_SIZE
    assert two.usage == Usage(cache_read=num_known, uncached_input=len(second) - num_known, output=1)
    assert decoder.num_computed == len(second) - num_known
    assert two.ids == alone(second, 1)
    (looked_up,) = two.of(CacheLookedUp)
    assert isinstance(looked_up, CacheLookedUp)
    assert looked_up.num_cached_tokens == sum(looked_up.hits) * BLOCK_SIZE == num_known
    assert len(looked_up.hits) == len(second) // BLOCK_SIZE


def test_the_last_token_of_a_known_prompt_is_computed_all_the_same() -> None:
    served, ids = engine(FakeDecoder()), prompt(1, 4 * BLOCK_SIZE)
    runs = [run(served, request(name, ids))[name] for name in "ab"]
    assert runs[0].ids == runs[1].ids == alone(ids)
    assert runs[1].usage.cache_read == 3 * BLOCK_SIZE


def test_what_is_told_of_the_cache_is_what_the_next_prompt_finds() -> None:
    served, ids = engine(FakeDecoder()), prompt(1, 100)
    run(served, request("a", ids))
    for num in (100, 70, 64, 16, 3):
        asked = (*ids[:num], *prompt(2, 9))
        told = served.num_cached(asked, request("b", asked).principal, request("b", asked).model)
        assert told == run(served, request("b", asked, 1))["b"].usage.cache_read
    assert served.num_cached(ids, "bob", request("a", ids).model) == 0


def test_two_principals_never_share() -> None:
    served, ids = engine(FakeDecoder()), prompt(1, 100)
    run(served, request("a", ids))
    (bob,) = run(served, request("b", ids, principal="bob")).values()
    assert bob.usage.cache_read == 0
    again = run(served, request("c", ids), request("d", ids, principal="bob"))
    assert {each.usage.cache_read for each in again.values()} == {96}


def saved_by(each: Run) -> tuple[int | None, int | None]:
    """The time of the look-up, and of how many tokens it is known."""
    (looked_up,) = each.of(CacheLookedUp)
    assert isinstance(looked_up, CacheLookedUp)
    return looked_up.saved_us, looked_up.num_timed_tokens


def test_time_saved_is_what_the_steps_took_that_read_the_tokens() -> None:
    """However long the prompts of others take meanwhile."""
    slowness = [1.0]
    decoder = FakeDecoder(slowdown=lambda: slowness[0])
    served = engine(decoder)
    first = run(served, request("a", prompt(1, 100), 1))["a"]
    slowness[0] = 7.0
    run(served, request("other", prompt(2, 200), 1))
    again = run(served, request("b", prompt(1, 100), 1))["b"]
    assert saved_by(first) == (None, 0)
    assert saved_by(again) == (96 * (decoder.us_per_step / 100 + decoder.us_per_row), 96)


def test_a_step_is_shared_evenly_among_its_tokens() -> None:
    decoder = FakeDecoder()
    served = engine(decoder)
    run(served, request("a", prompt(1, 40), 1), request("b", prompt(2, 60), 1))
    again = run(served, request("c", prompt(1, 40), 1))["c"]
    assert saved_by(again) == (32 * (decoder.us_per_step / 100 + decoder.us_per_row), 32)


def test_how_long_a_generated_token_takes_to_read_is_not_known() -> None:
    decoder = FakeDecoder()
    served = engine(decoder)
    first = prompt(1, 40)
    one = run(served, request("one", first, 25))["one"]
    two = run(served, request("two", (*first, *one.ids, *prompt(2, 15)), 1))["two"]
    assert two.usage.cache_read == 64
    assert saved_by(two) == (40 * (decoder.us_per_step / 40 + decoder.us_per_row), 40)


def test_a_block_that_was_copied_to_be_written_was_read_as_its_source_was() -> None:
    decoder = FakeDecoder()
    served = engine(decoder, limits=Limits(max_num_running=8, token_budget=1000, mixed_budget=1000))
    ids = prompt(1, 40)
    beside = run(served, *(request(name, ids, 4) for name in "ab"))
    assert saved_by(beside["b"]) == (round(39 * (decoder.us_per_step / 40 + decoder.us_per_row)), 39)


@pytest.mark.parametrize(("ttl", "written"), [("5m", "cache_write_5m"), ("1h", "cache_write_1h")])
def test_blocks_kept_at_the_clients_wish_are_written_then_read(ttl: str, written: str) -> None:
    clock = SetClock()
    served = engine(FakeDecoder(), cache=LruPrefixCache(clock))
    ids = prompt(1, 40)
    kept = marks(ids, ttl)
    first = run(served, request("a", ids, cache_marks=kept))["a"]
    assert first.usage == Usage(**{written: 32}, uncached_input=8, output=8)
    assert {event.ttl for event in first.of(CacheStored)} == {ttl}  # type: ignore[union-attr]
    clock.now += 299
    assert run(served, request("b", ids, cache_marks=kept))["b"].usage == Usage(
        cache_read=32, uncached_input=8, output=8
    )
    clock.now += 3601
    assert run(served, request("c", ids, cache_marks=kept))["c"].usage == first.usage


def test_each_block_is_kept_for_the_longest_time_of_the_breakpoints_behind_it() -> None:
    clock = SetClock()
    served = engine(FakeDecoder(), cache=LruPrefixCache(clock))
    ids = prompt(1, 72)
    breakpoints = (CacheMark(num_tokens=20, ttl="1h"), CacheMark(num_tokens=50, ttl="5m"))
    first = run(served, request("a", ids, cache_marks=breakpoints))["a"]
    assert first.usage == Usage(cache_write_1h=16, cache_write_5m=32, uncached_input=24, output=8)
    kept = [(event.ttl, event.indices) for event in first.of(CacheStored) if isinstance(event, CacheStored)]
    assert kept == [("1h", (0,)), ("5m", (1, 2)), ("none", (3,))]
    clock.now += 301
    assert run(served, request("b", ids))["b"].usage == Usage(cache_read=16, uncached_input=56, output=8)


def test_a_prompt_is_read_into_the_cache_without_an_answer() -> None:
    served = engine(FakeDecoder())
    ids = prompt(1, 40)
    warmed = run(served, request("a", ids, 0, cache_marks=marks(ids, "5m")))["a"]
    assert (warmed.usage, warmed.ids, warmed.finish_reason) == (
        Usage(cache_write_5m=32, uncached_input=8),
        [],
        "length",
    )
    assert run(served, request("b", ids))["b"].usage == Usage(cache_read=32, uncached_input=8, output=8)
    served.check_integrity()


def test_of_two_with_the_same_prompt_one_pays_for_writing_it() -> None:
    for num_prompt, num_written in ((40, 32), (48, 48)):
        ids = prompt(1, num_prompt)
        runs = run(engine(FakeDecoder()), *(request(name, ids, cache_marks=marks(ids, "5m")) for name in "ab"))
        assert runs["a"].usage == Usage(cache_write_5m=num_written, uncached_input=num_prompt - num_written, output=8)
        assert runs["b"].usage == Usage(cache_read=num_prompt - 1, uncached_input=1, output=8)


def test_blocks_written_before_a_preemption_are_paid_once() -> None:
    requests = [
        request(f"r{n}", prompt(n, 40), 60, principal=f"user {n}", cache_marks=marks(prompt(n, 40), "1h"))
        for n in range(6)
    ]
    runs = run(engine(FakeDecoder(), num_blocks=20, limits=LIMITS), *requests)
    assert any(each.of(GenerationPreempted) for each in runs.values())
    assert {each.usage for each in runs.values()} == {Usage(cache_write_1h=32, uncached_input=8, output=60)}


def siblings(ids: tuple[int, ...], num_answers: int, num_output: int = 8) -> list[GenerationRequest]:
    return [request(f"s{n}", ids, num_output) for n in range(num_answers)]


@pytest.mark.parametrize("num_prompt", [7, 2 * BLOCK_SIZE, 2 * BLOCK_SIZE + 1, 40])
def test_answers_to_one_prompt_share_its_blocks_and_copy_the_one_they_write_to(num_prompt: int) -> None:
    decoder, ids = FakeDecoder(), prompt(1, num_prompt)
    leader, *followers = run(engine(decoder), *siblings(ids, 3, 1 + BLOCK_SIZE)).values()
    assert leader.usage == Usage(uncached_input=num_prompt, output=1 + BLOCK_SIZE)
    assert decoder.num_computed == num_prompt + 2 + 3 * BLOCK_SIZE
    for follower in followers:
        assert follower.ids == leader.ids == alone(ids, 1 + BLOCK_SIZE)
        assert follower.usage == Usage(cache_read=num_prompt - 1, uncached_input=1, output=1 + BLOCK_SIZE)
        (looked_up,) = follower.of(CacheLookedUp)
        assert isinstance(looked_up, CacheLookedUp)
        assert looked_up.num_cached_tokens == num_prompt - 1
        assert sum(looked_up.hits) == (num_prompt - 1) // BLOCK_SIZE


@pytest.mark.slow
@settings(max_examples=40)
@given(st.data())
def test_shared_prompts_change_no_token_however_little_memory_there_is(data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.tuples(st.integers(1, 70), st.integers(1, 5), st.integers(1, 40)), max_size=5))
    requests = [
        msgspec.structs.replace(each, request_id=f"{seed}.{each.request_id}")
        for seed, (num_prompt, num_answers, num_output) in enumerate(groups)
        for each in siblings(prompt(data.draw(st.integers(0, 1)), num_prompt), num_answers, num_output)
    ]
    served = engine(FakeDecoder(), num_blocks=data.draw(st.integers(8, 20)), limits=LIMITS)
    different = {(asked.prompt_ids, asked.params.max_tokens) for asked in requests}
    expected = {(ids, num_output): alone(ids, num_output) for ids, num_output in different}
    for name, each in run(served, *requests).items():
        asked = next(request for request in requests if request.request_id == name)
        assert each.ids == expected[asked.prompt_ids, asked.params.max_tokens]
        assert each.usage.uncached_input + each.usage.cache_read == len(asked.prompt_ids)


def test_a_poisoned_prompt_fails_each_of_its_answers_and_is_not_kept() -> None:
    served, ids = engine(FakeDecoder(poisoned=frozenset({49}))), (*[token % 49 for token in prompt(1, 39)], 49)
    runs = run(served, *siblings(ids, 3))
    assert {each.finish_reason for each in runs.values()} == {"error"}
    assert run(served, request("again", ids, 1))["again"].usage.cache_read == 0


def test_preemption_loses_nothing() -> None:
    requests = [request(f"r{n}", prompt(n, 40), 60, principal=f"user {n}") for n in range(6)]
    tight = run(engine(FakeDecoder(), num_blocks=20, limits=LIMITS), *requests)
    roomy = run(engine(FakeDecoder(), num_blocks=200, cache=NoPrefixCache(), limits=LIMITS), *requests)
    assert {name: each.ids for name, each in tight.items()} == {name: each.ids for name, each in roomy.items()}
    preempted = [each for each in tight.values() if each.of(GenerationPreempted)]
    assert preempted and not any(each.of(GenerationPreempted) for each in roomy.values())
    assert any(each.of(CacheEvicted) for each in tight.values())
    for each in tight.values():
        assert sum((each.usage.uncached_input, each.usage.cache_read)) == 40
        assert each.finish_reason == roomy["r0"].finish_reason == "length"
        assert len(each.of(CacheLookedUp)) == 1 + len(each.of(GenerationPreempted))


def test_prefill_events_cover_the_prompt_once() -> None:
    (each,) = run(engine(FakeDecoder(), limits=LIMITS), request("a", prompt(1, 150))).values()
    chunks = [(event.start, event.end) for event in each.events if isinstance(event, PrefillAdvanced)]
    assert chunks == [(0, 64), (64, 128), (128, 150)]
    assert len(each.of(TokenSampled)) == len(each.ids) == 8


def test_chunks_batches_and_the_cache_change_no_token() -> None:
    generator = random.Random(3)
    beginnings = [prompt(n, generator.randrange(1, 120)) for n in range(4)]
    requests = [
        request(f"r{n}", (*generator.choice(beginnings), *prompt(100 + n, generator.randrange(1, 60))), 12)
        for n in range(25)
    ]
    served = engine(FakeDecoder(), num_blocks=60, limits=LIMITS)
    runs = run(served, *requests)
    assert sum(each.usage.cache_read for each in runs.values()) > 0
    for each in requests:
        assert runs[each.request_id].ids == alone(each.prompt_ids, 12)


def test_drafts_change_no_token_and_save_steps() -> None:
    ids = prompt(1, 30)
    plain, guessing = FakeDecoder(period=5), FakeDecoder(period=5)
    expected = run(engine(plain), request("a", ids, 100))["a"]
    actual = run(engine(guessing, has_drafts=True), request("a", ids, 100))["a"]
    assert actual.ids == expected.ids
    assert len(guessing.steps) < 0.7 * len(plain.steps)
    assert actual.usage == expected.usage
    drafts = [event for event in actual.events if isinstance(event, DraftVerified)]
    assert sum(draft.num_accepted for draft in drafts) == len(plain.steps) - len(guessing.steps)
    for draft in drafts:
        followed = actual.ids[draft.position : draft.position + len(draft.ids)]
        pairs = list(zip(draft.ids, followed, strict=False))
        assert all(guess == token for guess, token in pairs[: draft.num_accepted])
        assert all(guess != token for guess, token in pairs[draft.num_accepted : draft.num_accepted + 1])


def test_drafts_that_do_not_pay_are_given_up() -> None:
    dear = FakeDecoder(period=5, us_per_step=100, us_per_row=4000)
    run(engine(dear, has_drafts=True), request("a", prompt(1, 30), 100))
    num_drafts = sum(rows - 1 for (rows,) in dear.steps[1:])
    assert 0 < num_drafts < 15


@pytest.mark.parametrize("us_per_row", [300, 1000, 2000])
def test_interrupted_steps_switch_no_drafts_off_that_pay(us_per_row: int) -> None:
    """A third of the steps take up to ten times as long, for reasons that are not the engine's."""

    def undisturbed_us(seed: int | None, has_drafts: bool = True) -> int:
        noise = random.Random(seed)
        decoder = FakeDecoder(period=5, us_per_row=us_per_row)
        if seed is not None:
            decoder.slowdown = lambda: noise.uniform(0.95, 1.05) * (noise.uniform(2, 10) if noise.random() < 0.3 else 1)
        run(engine(decoder, has_drafts=has_drafts), request("a", prompt(1, 30), 256))
        return decoder.undisturbed_us

    quiet, plain = undisturbed_us(None), undisturbed_us(None, has_drafts=False)
    assert quiet < 0.6 * plain
    ratios = sorted(undisturbed_us(seed) / quiet for seed in range(9))
    assert ratios[4] < 1.1 and ratios[-1] < 1.6


def test_interrupted_steps_make_no_drafts_dear() -> None:
    """Rows cost as much as steps: nothing can be gained, and little must be lost."""
    noise = random.Random(1)
    plain, dear = (FakeDecoder(period=5, us_per_step=100, us_per_row=4000) for _ in range(2))
    dear.slowdown = lambda: noise.uniform(2, 10) if noise.random() < 0.3 else 1.0
    for decoder, has_drafts in ((plain, False), (dear, True)):
        run(engine(decoder, has_drafts=has_drafts), request("a", prompt(1, 30), 256))
    assert dear.undisturbed_us < 1.1 * plain.undisturbed_us


@pytest.mark.parametrize("place", [12, 20, 33, 47])
def test_no_guess_is_told_of_what_comes_after_a_token_that_ends_the_answer(place: int) -> None:
    plain = run(engine(FakeDecoder(period=5)), request("a", prompt(1, 30), 100))["a"].ids
    stop = plain[place]
    expected = plain[: plain.index(stop) + 1]
    served, runs = engine(FakeDecoder(period=5), has_drafts=True), {"a": Run()}
    served.submit(request("a", prompt(1, 30), 100), frozenset({stop}), StoppedClock())
    while served.has_work():
        steps_until(served, runs, 1)
    assert (runs["a"].ids, runs["a"].finish_reason) == (expected, "stop")
    drafts = [event for event in runs["a"].events if isinstance(event, DraftVerified)]
    assert all(each.num_accepted <= len(each.ids) <= len(expected) - each.position for each in drafts)


@pytest.mark.parametrize("num_output", [1, 2, 17])
def test_drafts_do_not_overshoot_the_end(num_output: int) -> None:
    (each,) = run(engine(FakeDecoder(period=3), has_drafts=True), request("a", (4, 5, 6) * 9, num_output)).values()
    assert len(each.ids) == each.usage.output == num_output


def test_logits_that_are_not_finite_end_that_request_alone_and_are_not_kept() -> None:
    served = engine(FakeDecoder(poisoned=frozenset({49})))
    bad, good = (*[token % 49 for token in prompt(1, 39)], 49), tuple(token % 49 for token in prompt(2, 40))
    runs = run(served, request("bad", bad, 1), request("good", good, 1))
    assert (runs["bad"].finish_reason, runs["good"].finish_reason) == ("error", "length")
    assert "NaN" in runs["bad"].message
    assert run(served, request("again", bad, 1))["again"].usage.cache_read == 0


@pytest.mark.parametrize(
    "said",
    [FakeDecoder.out_of_memory, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"],
    ids=["CPU", "cuBLAS"],
)
def test_out_of_memory_shrinks_the_batch_and_loses_nothing(said: str) -> None:
    requests = [request(f"r{n}", prompt(n, 90), 10, principal=f"user {n}") for n in range(6)]
    decoder = FakeDecoder(most_rows=5, out_of_memory=said)
    runs = run(engine(decoder, limits=LIMITS), *requests)
    assert {each.request_id: alone(each.prompt_ids, 10) for each in requests} == {n: r.ids for n, r in runs.items()}
    failed = sum(sum(rows) > 5 for rows in decoder.steps)
    assert 0 < failed < 0.1 * len(decoder.steps)


@dataclass
class Scarce:
    """vocabulary.summarise with too little memory for many rows, and now and then for any."""

    most_rows: int = 64
    fails_every: int = 0
    num_calls: int = 0
    num_failures: int = 0

    def __call__(self, logits: NDArray[np.float32], temperatures: Sequence[float], num_sorted: int) -> list[Summary]:
        self.num_calls += 1
        if len(logits) > self.most_rows or (self.fails_every and self.num_calls % self.fails_every == 0):
            self.num_failures += 1
            raise MemoryError("no memory to read the logits")
        return summarise(logits, temperatures, num_sorted)


PENALTY = SamplingParams(temperature=1.0, top_p=1.0, seed=7, max_tokens=20, frequency_penalty=0.5)


@pytest.mark.parametrize("has_drafts", [False, True])
@pytest.mark.parametrize("scarce", [Scarce(most_rows=2), Scarce(fails_every=7)], ids=["many rows", "now and then"])
def test_memory_that_runs_out_where_logits_are_read_costs_no_token(scarce: Scarce, has_drafts: bool) -> None:
    scarce.num_failures = 0
    requests = [
        msgspec.structs.replace(request(f"r{n}", prompt(n % 4, 40), principal=f"user {n}"), params=PENALTY)
        for n in range(6)
    ]
    expected = run(engine(FakeDecoder(period=5)), *requests)
    decoder = FakeDecoder(period=5)
    actual = run(engine(decoder, limits=LIMITS, has_drafts=has_drafts, summarise=scarce), *requests)
    assert {name: each.ids for name, each in actual.items()} == {name: each.ids for name, each in expected.items()}
    assert [each.usage for each in actual.values()] == [each.usage for each in expected.values()]
    assert 0 < scarce.num_failures < 0.3 * len(decoder.steps)
    for each in actual.values():
        tokens = [event for event in each.events if isinstance(event, TokenSampled)]
        assert [token.position for token in tokens] == list(range(20))
        drafts = [event for event in each.events if isinstance(event, DraftVerified)]
        for draft in drafts:
            followed = each.ids[draft.position :]
            for index, (guess, token) in enumerate(zip(draft.ids, followed, strict=False)):
                assert (guess == token) == (index < draft.num_accepted) or index > draft.num_accepted


def test_logits_that_can_never_be_read_fail_the_request_with_a_reason() -> None:
    (each,) = run(engine(FakeDecoder(), summarise=Scarce(most_rows=0)), request("a", prompt(1, 9))).values()
    assert each.finish_reason == "error"


class BrokenGrammar:
    """Allows all, until it meets a bug."""

    num_accepted = 0

    duration_us = 0

    def accept(self, tokens: Sequence[int]) -> None:
        self.num_accepted += len(tokens)

    def wait(self, patience_s: float) -> bool:
        return True

    def allowed(self) -> NDArray[np.bool_]:
        if self.num_accepted == 4:
            raise ArithmeticError("only this request meets it")
        return np.ones(50, np.bool_)


class LateGrammar:
    """Allows all; its masks are late until they are let through."""

    duration_us = 0

    def __init__(self) -> None:
        self.is_late = False

    def accept(self, tokens: Sequence[int]) -> None: ...

    def wait(self, patience_s: float) -> bool:
        return not self.is_late

    def allowed(self) -> NDArray[np.bool_]:
        assert not self.is_late
        return np.ones(50, np.bool_)


@pytest.mark.parametrize("drafts", [False, True])
def test_a_mask_that_is_late_holds_its_own_sequence_alone(drafts: bool) -> None:
    served, grammar = engine(FakeDecoder(), has_drafts=drafts), LateGrammar()
    prompts = {name: prompt(n, 20) for n, name in enumerate("ab")}
    runs = {name: Run() for name in prompts}
    served.submit(request("a", prompts["a"]), frozenset(), StoppedClock(), grammar)
    served.submit(request("b", prompts["b"]), frozenset(), StoppedClock())
    steps_until(served, runs, 1)
    grammar.is_late = True
    while served.has_work():
        steps_until(served, runs, 1)
        served.check_integrity()
    assert (runs["a"].finish_reason, runs["b"].finish_reason) == (None, "length")
    assert served.is_awaiting_mask
    grammar.is_late = False
    while served.has_work():
        steps_until(served, runs, 1)
    assert {name: each.ids for name, each in runs.items()} == {name: alone(prompts[name]) for name in "ab"}


def test_an_engine_without_room_beside_a_late_mask_need_not_step_at_once() -> None:
    served, grammar, runs = engine(FakeDecoder(), limits=Limits(max_num_running=1)), LateGrammar(), {"a": Run()}
    served.submit(request("a", prompt(1, 20)), frozenset(), StoppedClock(), grammar)
    steps_until(served, runs, 2)
    assert not served.is_stalled
    grammar.is_late = True
    served.submit(request("b", prompt(2, 20)), frozenset(), StoppedClock())
    steps_until(served, runs, 2)
    assert served.has_work() and served.is_stalled
    grammar.is_late = False
    steps_until(served, runs, 1)
    assert not served.is_stalled


class BusyGrammar(LateGrammar):
    """Makes a mask beside a step, or while it is waited for."""

    def __init__(self, decoder: FakeDecoder) -> None:
        super().__init__()
        self._decoder = decoder
        self._num_steps = 0

    def accept(self, tokens: Sequence[int]) -> None:
        self._num_steps = len(self._decoder.steps)

    def wait(self, patience_s: float) -> bool:
        return not self.is_late and (patience_s > 0 or len(self._decoder.steps) > self._num_steps)


def test_drafts_go_on_some_tokens_after_a_late_mask() -> None:
    plain, guessing = FakeDecoder(period=5), FakeDecoder(period=5)
    asked = request("a", prompt(1, 30), 200)
    expected = run(engine(plain), asked)["a"].ids
    served, grammar, runs = engine(guessing, has_drafts=True), BusyGrammar(guessing), {"a": Run()}
    served.submit(asked, frozenset(), StoppedClock(), grammar)
    steps_until(served, runs, 1)
    grammar.is_late = True
    while served.has_work():
        steps_until(served, runs, 1)
    grammar.is_late = False
    while served.has_work():
        steps_until(served, runs, 1)
    assert runs["a"].ids == expected
    assert len(guessing.steps) < 0.8 * len(plain.steps)
    drafts = [event for event in runs["a"].of(DraftVerified) if isinstance(event, DraftVerified)]
    assert max(draft.num_accepted for draft in drafts) > 1


def test_a_sequence_whose_masks_are_not_waited_for_makes_no_drafts() -> None:
    """Each draft needs a mask that is begun at that moment."""
    decoder = FakeDecoder(period=5)
    served, grammar, runs = engine(decoder, has_drafts=True), BusyGrammar(decoder), {"a": Run()}
    served.submit(request("a", prompt(1, 30), 100), frozenset(), StoppedClock(), grammar)
    steps_until(served, runs, 12)
    assert max(rows for (rows,) in decoder.steps[1:]) > 1
    grammar.is_late = True
    steps_until(served, runs, 1)
    grammar.is_late, num_before = False, len(decoder.steps)
    steps_until(served, runs, 10)
    assert decoder.steps[num_before:] == [[1]] * 10


def test_one_requests_trouble_ends_that_request_alone() -> None:
    served = engine(FakeDecoder())
    prompts = {name: prompt(n, 20) for n, name in enumerate("abc")}
    runs = {name: Run() for name in prompts}
    for name, ids in prompts.items():
        grammar = BrokenGrammar() if name == "b" else None
        served.submit(request(name, ids), frozenset(), StoppedClock(), grammar)
    while served.has_work():
        steps_until(served, runs, 1)
        served.check_integrity()
    assert {name: each.finish_reason for name, each in runs.items()} == {"a": "length", "b": "error", "c": "length"}
    assert {name: runs[name].ids for name in "ac"} == {name: alone(prompts[name]) for name in "ac"}
    assert runs["b"].ids == alone(prompts["b"])[:4]
    assert "log has the details" in runs["b"].message


def test_no_memory_at_all_fails_the_request_with_a_reason() -> None:
    (each,) = run(engine(FakeDecoder(most_rows=0)), request("a", prompt(1, 9))).values()
    assert each.finish_reason == "error"


def test_a_prompt_that_can_never_fit_is_refused_with_the_limit() -> None:
    small = engine(FakeDecoder(), num_blocks=4)
    with pytest.raises(PromptTooLong, match=r"64 tokens; this worker's cache holds 64.*SIGHTGLASS_KV_MB"):
        small.submit(request("a", prompt(1, 64)), frozenset(), StoppedClock())
    with pytest.raises(PromptTooLong, match="window holds 512"):
        engine(FakeDecoder()).submit(request("a", prompt(1, 512)), frozenset(), StoppedClock())


def test_an_answer_that_fills_the_cache_ends_there() -> None:
    (each,) = run(engine(FakeDecoder(), num_blocks=4), request("a", prompt(1, 50), 100)).values()
    assert (each.finish_reason, len(each.ids)) == ("length", 14)


@pytest.mark.parametrize("name", ["banned_token_ids", "stop_token_ids"])
def test_an_id_that_the_model_does_not_have_is_refused_by_name(name: str) -> None:
    params = msgspec.convert({name: [50]}, SamplingParams)
    wrong = msgspec.structs.replace(request("a", (1, 2)), params=params)
    with pytest.raises(ValueError, match=f"{name} has the id 50; this model's ids go from 0 to 49"):
        engine(FakeDecoder()).submit(wrong, frozenset(), StoppedClock())


def steps_until(served: Engine, runs: dict[str, Run], num_steps: int) -> None:
    for _ in range(num_steps):
        for output in served.step():
            runs[output.request_id].add(output)


def test_a_cancelled_request_gives_its_blocks_back_in_the_next_step() -> None:
    served = engine(FakeDecoder(), limits=LIMITS)
    served.submit(request("a", prompt(1, 200)), frozenset(), StoppedClock())
    runs = {"a": Run()}
    steps_until(served, runs, 2)
    served.cancel("a")
    steps_until(served, runs, 1)
    assert runs["a"].finish_reason == "abort"
    assert runs["a"].usage == Usage(uncached_input=128)
    served.check_integrity()
    assert not served.has_work()


def test_the_log_tells_a_copied_block_as_the_requests_own() -> None:
    served = engine(FakeDecoder(), num_blocks=16)
    ids = prompt(1, 2 * BLOCK_SIZE + 8)
    runs = run(served, request("leader", ids, 2), request("follower", ids, 2))
    (looked_up,) = runs["follower"].of(CacheLookedUp)
    assert isinstance(looked_up, CacheLookedUp)
    assert looked_up.num_owners == (2, 2, 1)


def test_the_log_tells_which_blocks_were_taken_over_and_stored_and_that_some_were_evicted() -> None:
    served = engine(FakeDecoder(), num_blocks=8)
    ids = prompt(1, 3 * BLOCK_SIZE)
    first = run(served, request("first", ids, 1))["first"]
    (cold,) = first.of(CacheLookedUp)
    (stored,) = first.of(CacheStored)
    assert isinstance(cold, CacheLookedUp) and isinstance(stored, CacheStored)
    assert (cold.num_owners, cold.was_empty, cold.absence) == ((), True, "never")
    assert stored.indices == (0, 1, 2)
    (warm,) = run(served, request("again", ids, 1))["again"].of(CacheLookedUp)
    assert isinstance(warm, CacheLookedUp)
    assert (warm.num_owners, warm.was_empty, warm.absence) == ((1, 1), False, None)
    other = run(served, request("other", prompt(2, 7 * BLOCK_SIZE), 1))["other"]
    assert len(other.of(CacheEvicted)) == 1
    (late,) = run(served, request("late", ids, 1))["late"].of(CacheLookedUp)
    assert isinstance(late, CacheLookedUp) and late.absence == "evicted"


def test_steps_are_told_with_their_company_and_only_when_it_changes() -> None:
    alone = run(engine(FakeDecoder()), request("a", prompt(1, 40), 8))["a"]
    assert [told(each) for each in alone.of(BatchComposed)] == [(0, 0, 0)]
    limits = Limits(max_num_running=2, token_budget=64, mixed_budget=32)
    runs = run(engine(FakeDecoder(), limits=limits), *(request(n, prompt(ord(n), 40), 6) for n in "abc"))
    heard = [told(each) for each in runs["a"].of(BatchComposed)]
    assert len(heard) < len(runs["a"].of(TokenSampled, PrefillAdvanced))
    assert heard[0] == (0, 1, 1)
    assert any(num_decoding == 1 for num_decoding, _, _ in heard)
    sizes = {1 + sum(told(each)[:2]) for run_of in runs.values() for each in run_of.of(BatchComposed)}
    assert sizes == {1, 2}


def told(event: AnyEvent) -> tuple[int, int, int]:
    assert isinstance(event, BatchComposed)
    assert event.num_decoding is not None and event.num_prefilling is not None
    return event.num_decoding, event.num_prefilling, event.num_waiting


@pytest.mark.parametrize("num_blocks", [64, 12], ids=["room", "a full pool"])
def test_no_log_tells_what_a_neighbour_computes(num_blocks: int) -> None:
    """The neighbour's prompt has another length, and its answer repeats itself, so that its tokens are guessed."""

    def beside(neighbour: list[int]) -> list[dict[str, Any]]:
        served = engine(FakeDecoder(), num_blocks=num_blocks)
        first = request("first", prompt(3, 2 * BLOCK_SIZE), 1)
        run(served, msgspec.structs.replace(first, principal="user:2"))
        other = msgspec.structs.replace(request("b", neighbour, 24), principal="user:2")
        own = run(served, request("a", prompt(1, BLOCK_SIZE), 12), other)["a"]
        shown = (msgspec.to_builtins(each) for each in own.of(BatchComposed, CacheLookedUp, CacheStored, CacheEvicted))
        return [{name: value for name, value in each.items() if name not in ("at", "saved_us")} for each in shown]

    assert beside(prompt(2, 40)) == beside([7, 8, 9] * 7)


@given(st.data())
def test_a_fork_that_chooses_the_same_tokens_goes_on_as_its_parent(data: st.DataObject) -> None:
    """The same draws at the same positions, the kept tokens read as input and found in the cache."""
    ids = prompt(1, data.draw(st.integers(1, 40)))
    penalties = data.draw(
        st.sampled_from([{}, {"presence_penalty": 1.0, "repetition_penalty": 1.3}, {"dry_multiplier": 0.8}])
    )
    asked = request("parent", ids, 40)
    asked = msgspec.structs.replace(asked, params=msgspec.structs.replace(asked.params, **penalties))
    served = engine(FakeDecoder())
    parent = run(served, asked)["parent"]
    num_kept = data.draw(st.integers(0, 39))
    kept = tuple(parent.ids[:num_kept])
    fork = run(served, msgspec.structs.replace(asked, request_id="fork", kept_ids=kept))["fork"]
    assert fork.ids == parent.ids[num_kept:]
    positions = [event.position for event in fork.events if isinstance(event, TokenSampled)]
    assert positions == list(range(num_kept, 40))
    num_read = len(ids) + num_kept
    assert fork.usage.uncached_input + fork.usage.cache_read == num_read
    assert fork.usage.cache_read == (num_read - 1) // BLOCK_SIZE * BLOCK_SIZE
    assert fork.usage.output == 40 - num_kept


def test_an_answer_that_has_its_most_tokens_already_cannot_go_on() -> None:
    asked = msgspec.structs.replace(request("a", prompt(1, 8), 3), kept_ids=(5, 6, 7))
    with pytest.raises(ValueError, match="max_tokens tokens already, 3"):
        engine(FakeDecoder()).submit(asked, frozenset(), StoppedClock())
