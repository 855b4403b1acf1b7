"""A draft model's guesses: what it would say after the text as it is, whatever it guessed before; and never an answer
that differs."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from inference.engine.drafting.draft_model import DraftModel
from inference.engine.scheduling.scheduler import Limits
from inference.engine.scheduling.sequence import Sequence
from inference.models.decoder import Chunk
from inference.models.decoders.kv_cache import KVCache
from inference.protocol.events import DraftVerified
from inference.protocol.request import GenerationRequest, SamplingParams
from tests.inference.engine.fakes import FakeDecoder, StoppedClock, draft_model, engine, prompt, request, run


def greedy(name: str, ids: tuple[int, ...], num_output: int) -> GenerationRequest:
    return GenerationRequest(
        request_id=name,
        attempt=1,
        model="m",
        prompt_ids=ids,
        params=SamplingParams(temperature=0.0, max_tokens=num_output),
        accepted_unix_us=0,
        principal="alice",
    )


def sequence(name: str, ids: tuple[int, ...]) -> Sequence:
    return Sequence(greedy(name, ids, 1000), frozenset(), StoppedClock(), 1024)


def guesses_of(model: DraftModel, each: Sequence, num_wanted: int) -> tuple[int, ...]:
    """Once it has read the text to the end."""
    for _ in range(4):
        if found := model.propose([(each, num_wanted)]):
            return found[each.request.request_id]
    raise AssertionError("no guesses")


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 7)), min_size=1, max_size=8))
def test_guesses_are_those_of_one_that_reads_the_text_for_the_first_time(rounds: list[tuple[int, int]]) -> None:
    """Each round: so many guesses, of which at most so many are kept, and then a token that was not guessed."""
    model, each = draft_model(FakeDecoder()), sequence("a", prompt(1, 20))
    for num_wanted, num_kept in rounds:
        found = guesses_of(model, each, num_wanted)
        assert found == guesses_of(draft_model(FakeDecoder()), sequence("b", tuple(each.ids)), num_wanted)
        for token in found[:num_kept]:
            each.accept(token)
        each.accept(3)


def test_a_long_prompt_is_read_in_pieces() -> None:
    decoder = FakeDecoder()
    assert len(guesses_of(draft_model(decoder), sequence("a", prompt(1, 400)), 2)) == 2
    assert decoder.steps == [[256], [144], [1]]


def test_a_prompt_is_read_as_one_and_what_was_written_as_it_was() -> None:
    read: list[bool] = []

    class Watched(FakeDecoder):
        def forward(self, chunks: list[Chunk], kv: KVCache) -> NDArray[np.float32]:
            read.extend(chunk.is_prompt for chunk in chunks)
            return super().forward(chunks, kv)

    model, each = draft_model(Watched()), sequence("a", prompt(1, 400))
    guesses_of(model, each, 2)
    each.accept(3)
    guesses_of(model, each, 2)
    assert read == [True, True, False, False, False]


def test_guesses_of_a_model_that_thinks_alike_are_all_kept() -> None:
    plain, guessing = FakeDecoder(), FakeDecoder()
    expected = run(engine(plain), greedy("a", prompt(1, 30), 100))["a"]
    model = draft_model(FakeDecoder(us_per_step=100, us_per_row=10))
    actual = run(engine(guessing, has_drafts=True, draft_model=model), greedy("a", prompt(1, 30), 100))["a"]
    assert actual.ids == expected.ids
    drafts = [event for event in actual.events if isinstance(event, DraftVerified)]
    assert {draft.source for draft in drafts} == {"draft_model"}
    assert all(draft.num_accepted == len(draft.ids) for draft in drafts)
    assert len(guessing.steps) < len(plain.steps) / 3


def test_nothing_is_guessed_for_a_request_that_forbids_it() -> None:
    asked = [request(name, prompt(index, 30), 40) for index, name in enumerate("ab")]
    model = draft_model(FakeDecoder(us_per_step=100, us_per_row=10))
    guessed = run(engine(FakeDecoder(), has_drafts=True, draft_model=model), *asked)
    asked[0] = msgspec.structs.replace(asked[0], may_guess=False)
    model = draft_model(FakeDecoder(us_per_step=100, us_per_row=10))
    actual = run(engine(FakeDecoder(), has_drafts=True, draft_model=model), *asked)
    assert [bool(actual[name].of(DraftVerified)) for name in "ab"] == [False, True]
    assert {name: each.ids for name, each in actual.items()} == {name: each.ids for name, each in guessed.items()}


@pytest.mark.parametrize("most_rows", [None, 3])
def test_no_guess_changes_an_answer(most_rows: int | None) -> None:
    """Guesses of another mind, several at once, with and without memory to make them."""
    requests = [request(name, prompt(index, 20 + index), 40) for index, name in enumerate("abc")]
    expected = run(engine(FakeDecoder(period=3)), *requests)
    model = draft_model(FakeDecoder(period=5, us_per_step=10, us_per_row=1, most_rows=most_rows))
    actual = run(engine(FakeDecoder(period=3), has_drafts=True, draft_model=model), *requests)
    assert {name: each.ids for name, each in actual.items()} == {name: each.ids for name, each in expected.items()}


def test_a_step_tried_again_for_want_of_memory_asks_for_the_same_guesses() -> None:
    """Nothing was written since: there is no new token to read."""
    decoder = FakeDecoder()
    model, each = draft_model(decoder), sequence("a", prompt(1, 20))
    assert guesses_of(model, each, 3) == guesses_of(model, each, 3)
    assert all(rows for step in decoder.steps for rows in step)


def test_a_draft_model_that_fails_costs_no_answer() -> None:
    class Broken(FakeDecoder):
        def forward(self, chunks: list[Chunk], kv: KVCache) -> NDArray[np.float32]:
            raise ValueError("it is broken")

    ids = prompt(1, 30)
    expected = run(engine(FakeDecoder(period=3)), request("a", ids, 40))["a"]
    served = engine(FakeDecoder(period=3), has_drafts=True, draft_model=draft_model(Broken()))
    actual = run(served, request("a", ids, 40))["a"]
    assert (actual.ids, actual.finish_reason) == (expected.ids, "length")


def test_nothing_is_guessed_while_a_prompt_is_read() -> None:
    """The scheduler would throw it away."""
    limits, guessing = Limits(max_num_running=4, token_budget=16, mixed_budget=16), FakeDecoder()
    served = engine(FakeDecoder(), limits=limits, has_drafts=True, draft_model=draft_model(guessing))
    served.submit(greedy("a", prompt(1, 10), 400), frozenset(), StoppedClock())
    for _ in range(20):
        served.step()
    num_before = len(guessing.steps)
    served.submit(greedy("b", prompt(2, 100), 1), frozenset(), StoppedClock())
    for _ in range(5):
        served.step()
    assert len(guessing.steps) == num_before > 0


def test_guesses_that_take_longer_than_they_save_are_given_up() -> None:
    slow = FakeDecoder(us_per_step=40_000)
    run(engine(FakeDecoder(period=3), has_drafts=True, draft_model=draft_model(slow)), request("a", prompt(1, 30), 100))
    assert 0 < len(slow.steps) < 20


def test_the_blocks_of_what_has_ended_serve_the_next() -> None:
    """Its cache holds one of these at a time."""
    served = engine(
        FakeDecoder(), has_drafts=True, draft_model=draft_model(FakeDecoder(us_per_step=10, us_per_row=1), 4)
    )
    for name in ("a", "b", "c"):
        each = run(served, greedy(name, prompt(ord(name), 30), 16))[name]
        assert each.of(DraftVerified), name
