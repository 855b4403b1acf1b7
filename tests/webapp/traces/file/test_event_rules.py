"""A trace from elsewhere is refused by field, or every reader of the server can take it."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inference.protocol.codec import decode_frame, encode_events
from inference.protocol.events import Frame
from webapp.traces.export.formats import FORMATS
from webapp.traces.export.redact import redact
from webapp.traces.file.archive import Archive, TraceFileError, decode
from webapp.traces.file.import_check import check
from webapp.traces.library.copies import digests

GOLDEN = Path(__file__).parents[3] / "golden" / "logs"
NAMES = ["blocked", "finished", "lost", "remote", "second_turn", "stopped", "two_generations"]
INTEGERS = [0, -1, 1, 7, 400, 2**31 - 1, 2**31, 2**53 - 1, 2**53, 2**62]
FLOATS = [0.0, -0.5, 0.5, 1.0, 5.0, -1e6, 1e6, 1e308, -1e308]


def rows(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))["frames"]
    return found


def frames(found: list[dict[str, Any]]) -> list[Frame]:
    return [decode_frame(json.dumps(row)) for row in found]


def changed(name: str, kind: str, **values: Any) -> Archive:
    """The golden trace, with other values in the first event of this type."""
    found = rows(name)
    event = next(event for row in found for event in row["events"] if event["type"] == kind)
    event.update({field: value(event[field]) if callable(value) else value for field, value in values.items()})
    return Archive({}, frames(found))


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_trace_is_taken_redacted_too(name: str) -> None:
    recorded = frames(rows(name))
    check(Archive({}, recorded))
    check(Archive({}, redact(recorded)))


TWICE = lambda values: values * 2  # noqa: E731


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("token.sampled", {"candidate_logits": []}),
        ("token.sampled", {"candidate_ids": TWICE, "candidate_logits": TWICE, "candidate_pieces": TWICE}),
        ("token.sampled", {"position": 2**62}),
        ("token.sampled", {"position": 3}),
        ("token.sampled", {"id": 2**53}),
        ("token.sampled", {"processors": TWICE}),
        ("token.sampled", {"step_us": -1}),
        ("token.sampled", {"logprob": 1e308}),
        ("token.sampled", {"u": 5.0}),
        ("safety.checked", {"scores": TWICE}),
        ("cache.looked_up", {"block_size": 0}),
        ("context.assembled", {"window": 10**12}),
        ("prompt.tokenized", {"pieces": []}),
        ("prefill.advanced", {"start": 10**6}),
        ("generation.queued", {"generation": 1000}),
        ("generation.queued", {"generation": -1}),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_what_a_panel_cannot_show_is_refused_by_field(kind: str, values: dict[str, Any]) -> None:
    with pytest.raises(TraceFileError, match=rf"{kind}\.\S+ must .*Export the trace again"):
        check(changed("second_turn", kind, **values))


CALL = {"path": "/v1/chat/completions", "body": '{"model": "m"}'}
CODE = """{"n": __import__('os').system('id')}"""


def tools(parameters: str) -> dict[str, Any]:
    return {"tools": [{"name": "look", "parameters": parameters}]}


@pytest.mark.parametrize(
    "sent",
    [
        *(
            CALL | {"path": path}
            for path in ("@evil.example/v1/messages", ".example/v1/messages", "/v1/messages\n", "")
        ),
        *(CALL | {"body": body} for body in (CODE, "{a: 1}", '{"a": "\\q"}', "]", "{}}", "[]", "", '{"n": NaN}')),
        CALL | {"body": '{"a": ' * 50_000},
    ],
)
def test_a_call_that_cannot_be_copied_is_refused(sent: dict[str, str]) -> None:
    check(changed("finished", "request.accepted", sent=CALL))
    with pytest.raises(TraceFileError, match=r"request\.accepted\.sent\.\S+ must "):
        check(changed("finished", "request.accepted", sent=sent))


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens", "/record/an-agent.2/v1/embeddings"])
def test_a_call_of_the_api_is_taken_digit_by_digit(path: str) -> None:
    check(changed("finished", "request.accepted", sent={"path": path, "body": '{"n": %s}' % ("9" * 5000)}))


@pytest.mark.parametrize(
    "param", [{"json_schema": CODE}, {"tool_calls": tools(CODE)}], ids=lambda param: next(iter(param))
)
def test_a_schema_that_is_no_json_is_refused(param: dict[str, Any]) -> None:
    check(changed("finished", "request.accepted", params=lambda params: params | {"json_schema": '{"type": "object"}'}))
    with pytest.raises(TraceFileError, match=r"request\.accepted\.params\.\S+ must be JSON"):
        check(changed("finished", "request.accepted", params=lambda params: params | param))


@pytest.mark.parametrize(
    ("kind", "values"), [("bill.posted", {"currency": "U\0D"}), ("request.failed", {"code": "a\0b"})]
)
def test_a_word_that_no_database_holds_is_refused(kind: str, values: dict[str, Any]) -> None:
    with pytest.raises(TraceFileError):
        check(changed("finished" if kind == "bill.posted" else "lost", kind, **values))


def mutated(name: str, seeds: list[int]) -> list[dict[str, Any]]:
    """A golden trace with one value per seed, somewhere inside, that is another."""
    found = rows(name)
    for seed in seeds:
        draw = random.Random(seed)
        place: Any = draw.choice([event for row in found for event in row["events"]])
        while True:
            keys = range(len(place)) if isinstance(place, list) else [key for key in place if key != "type"]
            key = draw.choice(list(keys))
            if not (isinstance(place[key], list | dict) and place[key] and draw.random() < 0.8):
                break
            place = place[key]
        place[key] = draw.choice(others(place[key]))
    return found


def others(value: Any) -> list[Any]:
    """Values of the same type, and sometimes none."""
    match value:
        case bool():
            return [not value]
        case int():
            return [*INTEGERS, value + 1, value - 1]
        case float():
            return FLOATS
        case list():
            return [[], value * 2, value[::-1], value[:-1], value[1:]]
        case str():
            return ["", "x", value * 2]
    return [None, 0, 0.5, []]


@example(name="finished", seeds=[763])
@settings(max_examples=300)
@given(name=st.sampled_from(NAMES), seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=3))
def test_a_changed_trace_is_refused_or_every_reader_takes_it(name: str, seeds: list[int]) -> None:
    try:
        archive = Archive({}, frames(mutated(name, seeds)))
        check(archive)
    except (msgspec.ValidationError, TraceFileError):
        return
    read = decode(FORMATS["sgtrace"].encode(archive.frames, {})).frames
    assert [len(frame.events) for frame in read] == [len(frame.events) for frame in archive.frames]
    digests(archive.frames)
    for name in ("json", "perfetto", "otlp"):
        FORMATS[name].encode(archive.frames, {})
        FORMATS[name].encode(redact(archive.frames), {})


def taken(num: int) -> list[list[dict[str, Any]]]:
    """The events of changed traces that an import takes. The page's own test shows them in every panel."""
    found: list[list[dict[str, Any]]] = []
    for seed in range(num):
        name = NAMES[seed % len(NAMES)]
        with contextlib.suppress(msgspec.ValidationError, TraceFileError):
            archive = Archive({}, frames(mutated(name, [seed, seed + num])))
            check(archive)
            found.append([json.loads(encode_events([event]))[0] for frame in archive.frames for event in frame.events])
    return found
