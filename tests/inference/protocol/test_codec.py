"""Events survive the wire and bad ones are refused."""

from __future__ import annotations

import msgspec
import pytest

from inference.protocol import codec
from inference.protocol.events import Frame, RequestCancelled, TextReleased
from inference.protocol.generate import stale_files
from inference.protocol.json_schema import build_schema
from inference.protocol.request import RANGES, SamplingParams

EVENTS = (RequestCancelled(at=5, by="user"), TextReleased(at=9, text="Paris é 🗼", num_tokens=2))


def test_a_frame_built_from_encoded_events_decodes_to_the_same_events() -> None:
    frame = codec.decode_frame(codec.frame_json(7, "8", codec.encode_events(EVENTS)))

    assert frame == Frame(seq=7, id="8", events=EVENTS)
    assert frame.last_seq == 8


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b'{"seq":1,"events":[{"type":"no.such","at":1}]}', b'{"seq":1,"events":[{"type":"text.released"}]}'],
)
def test_what_is_not_a_frame_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        codec.decode_frame(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -1.0),
        ("temperature", float("nan")),
        ("top_p", 0.0),
        ("top_p", float("inf")),
        ("top_k", -1),
        ("min_p", 1.5),
        ("max_tokens", -1),
        ("max_tokens", 10**9),
        ("seed", -1),
        ("repetition_penalty", 0.0),
        ("stop", ("",)),
        ("stop", ("a", "b", "c", "d", "e")),
    ],
)
def test_nonsense_parameters_are_named(field: str, value: object) -> None:
    problem = msgspec.structs.replace(SamplingParams(), **{field: value}).problem()

    assert problem is not None
    assert problem.field == field
    assert str(problem).startswith(f"{field} ")


def test_every_number_has_a_range_with_both_ends_and_nothing_beyond() -> None:
    defaults = msgspec.structs.asdict(SamplingParams())
    numbers = {name for name, value in defaults.items() if type(value) in (float, int)} | {"seed", "thinking_tokens"}
    assert set(RANGES) == numbers
    for name, (low, high) in RANGES.items():
        lowest = 1e-9 if name in ("top_p", "typical_p") else low
        for value, is_sound in ((low - 1, False), (lowest, True), (high, True), (high + 1, False)):
            params = msgspec.structs.replace(SamplingParams(), **{name: value})
            assert (params.problem() is None) == is_sound, (name, value)


def test_the_default_parameters_are_sound() -> None:
    assert SamplingParams().problem() is None


def test_the_generated_schema_and_typescript_are_current() -> None:
    assert stale_files() == []


def test_no_line_of_a_description_is_indented() -> None:
    """Python 3.13 takes the indentation out of docstrings, and earlier ones leave it in."""
    described = [each["description"] for each in build_schema()["$defs"].values() if "description" in each]
    assert [each for each in described if "\n " in each] == [] and any("\n" in each for each in described)
