"""The file of a batch, read line by line: faults by their line's number, and never a half-read batch."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.surfaces.batches.bounds import MAX_LINES
from webapp.surfaces.batches.reading import models_of, read_lines

CHAT = "/v1/chat/completions"


def line(custom_id: str = "a", **change: Any) -> str:
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": CHAT, "body": {"model": "m"}} | change)


def faults(*lines: str) -> list[tuple[int | None, str]]:
    return [(fault.line, fault.code) for fault in read_lines("\n".join(lines), CHAT).faults]


def test_lines_are_read_in_their_order_with_their_bodies_as_they_were_sent() -> None:
    body = '{"model": "m",  "x": 1e2}'
    text = line("one").replace('{"model": "m"}', body) + "\r\n\n" + line("two", body={"model": "n"}) + "\n"
    found = read_lines(text, CHAT)
    assert not found.faults
    assert [(each.custom_id, each.model) for each in found.lines] == [("one", "m"), ("two", "n")]
    assert found.lines[0].body == body
    assert models_of(found.lines) == ["m", "n"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "invalid_json_line"),
        ("[1]", "invalid_line"),
        ("{}", "invalid_line"),
        (line(custom_id=""), "invalid_custom_id"),
        (line("a" * 257), "invalid_custom_id"),
        (line("a\x00"), "invalid_custom_id"),
        (line(method="GET"), "invalid_method"),
        (line(url="/v1/embeddings"), "invalid_url"),
        (line(body=[1]), "invalid_body"),
        (line(body=None), "invalid_body"),
        (line().replace('{"model"', '{"a":' + "[" * 100_000), "invalid_json_line"),
    ],
)
def test_a_bad_line_is_told_by_its_number(text: str, code: str) -> None:
    assert faults(line("first"), "", text) == [(3, code)]
    assert not read_lines("\n".join([line("first"), text]), CHAT).lines


def test_a_custom_id_stands_once() -> None:
    assert faults(line("a"), line("b"), line("a")) == [(3, "duplicate_custom_id")]


def test_a_body_that_names_no_model_is_left_to_its_own_parser() -> None:
    found = read_lines(line(body={"model": 5}), CHAT)
    assert (found.faults, found.lines[0].model) == ([], "")


def test_a_file_has_at_least_one_line_and_no_more_than_the_limit() -> None:
    assert faults("", "  ") == [(None, "empty_file")]
    assert faults(*["x"] * (MAX_LINES + 1)) == [(None, "too_many_lines")]
    assert len(faults(*["x"] * 1000)) == 50


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    found = read_lines(text, CHAT)
    assert found.faults or found.lines


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=8))
def test_a_batch_has_all_lines_or_none(ids: list[str]) -> None:
    found = read_lines("\n".join(line(each) for each in ids), CHAT)
    assert len(found.lines) == (len(ids) if len(set(ids)) == len(ids) else 0)
    assert len(found.faults) == len(ids) - len(set(ids))
