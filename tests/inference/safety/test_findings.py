"""Personal data and secrets are found by their form, other numbers and words are not, and no text takes long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.safety.findings import find, open_from

SETS: dict[str, Any] = json.loads((Path(__file__).parent / "layers_development.json").read_text("utf-8"))
HOSTILE = [
    "a" * 60_000,
    "@" * 60_000,
    "a@" * 30_000,
    "a.b@c." * 10_000,
    "1 " * 30_000,
    "1-1(" * 15_000,
    "(" * 60_000,
    "AB12 " * 12_000,
    "sk-" * 20_000,
    "eyJ" * 20_000,
    "-----BEGIN " * 6_000,
    "-----BEGIN PRIVATE KEY-----" * 2_000,
    "gh" * 30_000,
    "ab@" + ("a" * 63 + ".") * 900,
]


@pytest.mark.parametrize("name", ["personal data", "secrets"])
def test_the_labelled_texts_are_told_apart(name: str) -> None:
    (category,) = SETS[name]["names"]
    assert [text for text in SETS[name]["positive"] if {each.category for each in find(text)} != {category}] == []
    assert [text for text in SETS[name]["negative"] if find(text)] == []


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_no_text_takes_long(text: str) -> None:
    """The patterns have no nested repetition: with one, these texts would take hours and not seconds."""
    found = find(text)
    assert open_from(text, found) <= len(text)


@given(st.text("ab1@.-+( )sk_eyJ:DE89 \n", max_size=200))
def test_findings_are_in_order_and_apart(text: str) -> None:
    found = find(text)
    ends = [0, *(each.end for each in found)]
    assert all(end <= each.start < each.end <= len(text) for end, each in zip(ends, found, strict=False))


@pytest.mark.parametrize("text", SETS["personal data"]["positive"] + SETS["secrets"]["positive"])
def test_the_text_is_open_from_the_beginning_of_what_comes(text: str) -> None:
    """However much of it has come, no character of a finding counts as settled."""
    for each in find(text):
        for end in range(each.start + 1, each.end):
            begun = text[:end]
            settled = open_from(begun, find(begun))
            known = [item.start for item in find(begun) if item.end > settled]
            assert min([settled, *known]) <= each.start


def test_a_card_and_an_account_need_their_check_digits() -> None:
    assert find("4111 1111 1111 1111") and not find("4111 1111 1111 1112")
    assert find("DE89 3704 0044 0532 0130 00") and not find("DE88 3704 0044 0532 0130 00")
