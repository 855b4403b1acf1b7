"""Passages cover the text, in order, and none is longer than the encoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from webapp.content.attachments.passages import PASSAGE_TOKENS, Span, cut

SENTENCE = "The quick brown fox jumps over the lazy dog near the river bank. "


def by_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def by_characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def check(text: str, spans: Sequence[Span]) -> None:
    assert list(spans) == [] if not text else (spans[0].start, spans[-1].end) == (0, len(text))
    for one, other in pairwise(spans):
        assert one.start < other.start <= one.end < other.end


@given(st.text(alphabet="ab .!\n。é", max_size=3000))
def test_passages_cover_any_text_in_order(text: str) -> None:
    check(text, cut(text, by_words))


@given(st.lists(st.sampled_from([SENTENCE, "\n\n", "word", "x" * 400, "日本語。", " "]), max_size=200))
def test_no_passage_has_more_tokens_than_it_may(parts: list[str]) -> None:
    text = "".join(parts)
    spans = cut(text, by_characters)
    check(text, spans)
    assert all(each.end - each.start <= PASSAGE_TOKENS for each in spans)


def test_a_passage_ends_with_a_sentence_and_the_next_repeats_its_last() -> None:
    text = SENTENCE * 60
    spans = cut(text, by_words)
    assert len(spans) > 3
    assert all(text[each.start : each.end].endswith("bank. ") for each in spans)
    assert all(other.start == one.end - len(SENTENCE) for one, other in pairwise(spans))


def test_a_long_word_is_cut() -> None:
    spans = cut("x" * 10_000, by_words)
    check("x" * 10_000, spans)
    assert max(each.end - each.start for each in spans) <= PASSAGE_TOKENS * 6
