"""A refusal lists the values that its place takes."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from webapp.ground.gateway.body import decode_body
from webapp.ground.gateway.choices import choices_at
from webapp.ground.gateway.errors import ApiError


class Said(msgspec.Struct, tag="said", tag_field="role"):
    text: str = ""


class Done(msgspec.Struct, tag="done", tag_field="role"):
    how: Literal["well", "badly"] = "well"


class Whole(msgspec.Struct, forbid_unknown_fields=True):
    items: tuple[Said | Done, ...] = ()
    named: dict[str, Done] = {}
    mode: Literal["fast", "slow"] | None = None


@pytest.mark.parametrize(
    ("path", "choices"),
    [
        ("items[0].role", ["said", "done"]),
        ("items[...].how", ["well", "badly"]),
        ("named[...].how", ["well", "badly"]),
        ("mode", ["fast", "slow"]),
        ("items[0].text", []),
        ("", []),
        ("nothing[0].there", []),
    ],
)
def test_the_choices_of_a_place_are_its_literals_and_tags(path: str, choices: list[str]) -> None:
    assert sorted(choices_at(Whole, path)) == sorted(choices)


def test_a_value_of_no_choice_is_refused_with_the_choices() -> None:
    with pytest.raises(ApiError) as refused:
        decode_body(b'{"items": [{"role": "robot"}]}', Whole)
    assert str(refused.value) == "items[0].role must be said or done, not 'robot'."
