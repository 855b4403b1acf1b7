"""Vectors that are remembered are the same, are each principal's own, and are no texts."""

from __future__ import annotations

import concurrent.futures

import numpy as np
import pytest

from inference.safety.minilm import MiniLM, bundled_minilm
from inference.safety.recent_vectors import RecentVectors
from tests.inference.engine.fakes import SetClock

TEXTS = ["You are helpful.", "What is the capital of France?", "Bread \ud800 is baked."]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(bundled_minilm())


class CountingModel:
    def __init__(self, model: MiniLM) -> None:
        self._model = model
        self.embedded: list[str] = []

    def embed(self, texts: list[str]) -> np.ndarray:
        self.embedded += texts
        return self._model.embed(texts)


@pytest.fixture
def counting(model: MiniLM) -> CountingModel:
    return CountingModel(model)


def test_only_what_is_new_to_the_principal_is_embedded(model: MiniLM, counting: CountingModel) -> None:
    recent = RecentVectors(counting)  # type: ignore[arg-type]
    recent.embed(TEXTS[:2], "alice")
    assert np.array_equal(recent.embed(TEXTS, "alice"), model.embed(TEXTS))
    assert counting.embedded == TEXTS
    recent.embed(TEXTS[:1], "bob")
    assert counting.embedded == [*TEXTS, TEXTS[0]]


def test_a_text_that_stands_twice_in_a_question_is_one_of_each(model: MiniLM) -> None:
    recent = RecentVectors(model)
    twice = [TEXTS[0], TEXTS[1], TEXTS[0]]
    for _ in range(2):
        assert np.array_equal(recent.embed(twice, "alice"), model.embed(twice))


def test_the_least_recently_used_is_forgotten_first(counting: CountingModel) -> None:
    recent = RecentVectors(counting, capacity=2)  # type: ignore[arg-type]
    for text in (TEXTS[0], TEXTS[1], TEXTS[0], TEXTS[2], TEXTS[0], TEXTS[1]):
        recent.embed([text], "alice")
    assert counting.embedded == [TEXTS[0], TEXTS[1], TEXTS[2], TEXTS[1]]


def test_what_was_not_used_for_ten_minutes_is_forgotten(counting: CountingModel) -> None:
    clock = SetClock()
    recent = RecentVectors(counting, now=clock)  # type: ignore[arg-type]
    for clock.now, text in ((0, TEXTS[0]), (0, TEXTS[1]), (500, TEXTS[0]), (1000, TEXTS[0]), (1001, TEXTS[1])):
        recent.embed([text], "alice")
    assert counting.embedded == [TEXTS[0], TEXTS[1], TEXTS[1]]
    clock.now = 2000
    recent.embed([TEXTS[2]], "bob")
    assert recent.num_vectors == 1


def test_no_text_and_no_principal_is_kept(model: MiniLM) -> None:
    recent = RecentVectors(model)
    recent.embed(TEXTS, "alice")
    kept = repr(vars(recent))
    assert "alice" not in kept and not any(word in kept for word in ("helpful", "France", "Bread"))


def test_threads_may_share_it(model: MiniLM) -> None:
    recent, alone = RecentVectors(model, capacity=3), [model.embed([text]) for text in TEXTS]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: recent.embed([text], "alice"), TEXTS * 8))
    assert all(np.array_equal(one, other) for one, other in zip(alone * 8, together, strict=True))
