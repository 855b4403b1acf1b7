"""What other programs get of the recorded logs: it has the form they ask for, tells what the log tells and no more."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from inference.protocol.codec import decode_frame
from inference.protocol.events import Frame, GenerationFinished, PromptTokenized, RequestFailed, TokenSampled
from webapp.traces.export.otel import to_otlp
from webapp.traces.export.perfetto import to_perfetto
from webapp.traces.export.spans import STAGES, Log
from webapp.traces.file.jsonfile import decode_json, encode_json

LOGS = sorted((Path(__file__).parent / "logs").glob("*.json"))


@pytest.fixture(params=LOGS, ids=lambda path: path.stem)
def frames(request: pytest.FixtureRequest) -> list[Frame]:
    return read(request.param)


def read(path: Path) -> list[Frame]:
    return [decode_frame(json.dumps(frame)) for frame in json.loads(path.read_text("utf-8"))["frames"]]


def golden(name: str) -> list[Frame]:
    return read(next(path for path in LOGS if path.stem == name))


def test_the_json_comes_back_as_it_went(frames: list[Frame]) -> None:
    archive = decode_json(encode_json(frames, {"title": "T"}))
    assert (archive.frames, archive.summary) == (frames, {"title": "T"})


def test_the_json_is_the_wire_with_a_header() -> None:
    path = LOGS[0]
    document = json.loads(encode_json(read(path), {}))
    assert [decode_frame(json.dumps(frame)) for frame in document["trace"]["frames"]] == read(path)
    assert document.keys() == {"format", "version", "request_id", "sha256", "trace"}
    assert document["request_id"] == document["trace"]["frames"][0]["events"][0]["request_id"]


# ---- Perfetto ------------------------------------------------------------------------------------------------------


def trace_events(frames: list[Frame]) -> list[dict[str, Any]]:
    return list(json.loads(to_perfetto(frames))["traceEvents"])


FIELDS = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "ts", "dur", "pid", "tid"},
    "i": {"name", "cat", "ts", "s", "pid", "tid"},
    "C": {"name", "ts", "pid", "tid", "args"},
}
"""What an event of each phase has; `args` of spans and moments may be missing."""


def check_fields(event: dict[str, Any]) -> None:
    assert event.keys() - {"args"} == FIELDS[event["ph"]] - {"args"} | {"ph"}
    assert event["name"]
    # Perfetto reads both as unsigned 32-bit numbers, and 0 as the idle process and its thread.
    assert all(type(event[field]) is int and 0 < event[field] < 2**32 for field in ("pid", "tid"))
    if event["ph"] == "M":
        assert set(event["args"]) == {"sort_index" if event["name"] == "thread_sort_index" else "name"}
        return
    # µs, which Perfetto makes nanoseconds of 64 bits.
    assert type(event["ts"]) is int
    assert abs(event["ts"]) < 2**63 // 1000
    assert event["ph"] != "X" or (type(event["dur"]) is int and event["dur"] >= 0)
    assert event["ph"] != "i" or event["s"] == "t"
    if event["ph"] == "C":
        assert len(event["args"]) == 1
        assert all(type(value) in (int, float) and isfinite(value) for value in event["args"].values())


def check_nesting(events: list[dict[str, Any]]) -> None:
    """As Perfetto stacks a thread's slices: in the order of their begin, each within all that have not ended.

    Of slices that overlap in part it ends the outer one too early, so that it draws what never was.
    """
    stacks = defaultdict[int, list[int]](list)
    for event in sorted((event for event in events if event["ph"] in "Xi"), key=lambda event: event["ts"]):
        stack, end = stacks[event["tid"]], event["ts"] + event.get("dur", 0)
        while stack and stack[-1] <= event["ts"]:
            stack.pop()
        assert not stack or end <= stack[-1], event
        stack.append(end)


def check_trace(events: list[dict[str, Any]]) -> None:
    for event in events:
        check_fields(event)
    check_nesting(events)
    named = [event["tid"] for event in events if event["name"] == "thread_name"]
    assert len(named) == len(set(named))
    assert {event["tid"] for event in events if event["ph"] in "Xi"} == set(named)
    assert [event["args"]["name"] for event in events if event["name"] == "process_name"] == [
        f"Sightglass {events[0]['args']['name'].split()[-1]}"
    ]


def test_perfettos_file_keeps_to_the_format(frames: list[Frame]) -> None:
    document = json.loads(to_perfetto(frames))
    assert document.keys() == {"displayTimeUnit", "otherData", "traceEvents"}
    assert document["displayTimeUnit"] == "ms"
    check_trace(document["traceEvents"])


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 300)), max_size=160))
@example([(400, 400 - start) for start in range(150)])
@example([(200 + start, 200) for start in range(150)])
def test_no_two_spans_of_a_track_overlap_in_part(times: list[tuple[int, int]]) -> None:
    """Whatever a log from elsewhere claims, also more at once than one would think of."""
    first, *_ = golden("finished")[0].events
    token = Log(golden("finished")).all(TokenSampled)[0]
    tokens = [replace(token, at=at, step_us=lasted, position=n) for n, (at, lasted) in enumerate(times)]
    check_trace(trace_events([Frame(seq=1, events=(first, *tokens))]))


def test_every_lane_is_named_after_its_stage_and_none_overlaps_itself(frames: list[Frame]) -> None:
    events = trace_events(frames)
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    lanes = defaultdict(list)
    for event in events:
        if event["ph"] in "Xi":
            assert names[event["tid"]].split(" (")[0] == STAGES[event["cat"]].split(" (")[0]
        if event["ph"] == "X":
            lanes[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for spans in lanes.values():
        spans.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_each_token_is_there_with_its_step_and_batch(frames: list[Frame]) -> None:
    log = Log(frames)
    zero = log.accepted_unix_us
    events = trace_events(frames)
    told = [event for event in events if event.get("args", {}).get("event") == "token.sampled"]
    shown = {(event["args"]["generation"], event["args"]["position"]): event for event in told}
    tokens = log.all(TokenSampled)
    assert shown.keys() == {(token.generation, token.position) for token in tokens}
    for token in tokens:
        event = shown[token.generation, token.position]
        if token.position == 0:  # a moment: the prefill's last step gives it
            assert event["ph"] == "i"
            continue
        assert event["ts"] + event["dur"] == zero + token.at
        if token.step_us is not None:
            assert event["dur"] == token.step_us
    batch = {e["ts"]: e["args"]["sequences"] for e in events if e["name"] == "batch size"}
    for token in tokens:
        if token.batch_size is not None:
            assert batch[zero + token.at] == token.batch_size


def test_what_a_server_elsewhere_does_not_tell_is_no_counter() -> None:
    counters = {event["name"] for event in trace_events(golden("remote")) if event["ph"] == "C"}
    assert counters == {"tokens generated", "prompt read", "queue depth"}


# ---- OpenTelemetry -------------------------------------------------------------------------------------------------


def otel_spans(frames: list[Frame]) -> list[dict[str, Any]]:
    (resource,) = json.loads(to_otlp(frames))["resourceSpans"]
    assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "sightglass"}}]
    (scope,) = resource["scopeSpans"]
    return list(scope["spans"])


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    def plain(value: dict[str, Any]) -> Any:
        ((kind, content),) = value.items()
        if kind == "arrayValue":
            return [plain(each) for each in content["values"]]
        assert isinstance(content, {"stringValue": str, "intValue": str, "doubleValue": float, "boolValue": bool}[kind])
        return int(content) if kind == "intValue" else content

    keys = [entry["key"] for entry in span["attributes"]]
    assert len(set(keys)) == len(keys)
    return {entry["key"]: plain(entry["value"]) for entry in span["attributes"]}


def test_the_spans_are_one_tree_in_otlps_form(frames: list[Frame]) -> None:
    root, *below = otel_spans(frames)
    assert "parentSpanId" not in root
    assert all(span["parentSpanId"] == root["spanId"] for span in below)
    spans = [root, *below]
    assert len({span["spanId"] for span in spans}) == len(spans)
    for span in spans:
        assert (len(bytes.fromhex(span["traceId"])), len(bytes.fromhex(span["spanId"]))) == (16, 8)
        assert span["traceId"] == root["traceId"]
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        attributes(span)
    assert otel_spans(frames) == spans


def test_the_requests_span_has_the_conventions_attributes(frames: list[Frame]) -> None:
    log = Log(frames)
    root = otel_spans(frames)[0]
    found = attributes(root)
    assert (found["gen_ai.operation.name"], found["gen_ai.request.model"]) == ("chat", "smollm2-135m-instruct")
    assert root["name"] == "chat smollm2-135m-instruct"
    finished, failed = log.all(GenerationFinished), log.first(RequestFailed)
    assert ("gen_ai.usage.input_tokens" in found) == bool(finished)
    if finished:
        usages = [event.usage for event in finished]
        assert found["gen_ai.usage.input_tokens"] == sum(each.uncached_input + each.cache_read for each in usages)
        assert found["gen_ai.usage.output_tokens"] == sum(each.output for each in usages)
        assert found["gen_ai.response.finish_reasons"] == [finished[-1].finish_reason]
    # A refusal by policy is an outcome, not an error.
    error = failed.code if failed and failed.code != "blocked" else None
    assert found.get("error.type") == error
    assert root.get("status", {}).get("code") == (2 if error else None)


def test_each_generation_has_a_decode_span_of_its_own() -> None:
    decodes = [span for span in otel_spans(golden("two_generations")) if span["name"] == "decode"]
    assert [attributes(span)["sightglass.generation"] for span in decodes] == [0, 1]


def test_neither_prompt_nor_answer_is_in_the_spans(frames: list[Frame]) -> None:
    text = to_otlp(frames).decode()
    log = Log(frames)
    for prompt in log.all(PromptTokenized):
        assert not any(piece.decode("utf-8", "ignore").strip() in text for piece in prompt.pieces if len(piece) > 9)
    assert "gen_ai.input.messages" not in text
    assert not any("Paris" in span["name"] for span in otel_spans(frames))
