"""A redacted trace reveals no text, for any values of its events, and is still a valid trace."""

from __future__ import annotations

import json
import re
import types
import typing
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    Frame,
    PromptTokenized,
    RequestAccepted,
    TextReleased,
    TokenSampled,
)
from inference.protocol.json_schema import build_schema
from tests.webapp.traces.file.test_archive import token
from webapp.requests.models import Request
from webapp.requests.summary import about
from webapp.traces.export.formats import FORMATS
from webapp.traces.export.redact import MARK, TEXT, redact, redact_summary
from webapp.traces.file import archive
from webapp.traces.file.jsonfile import decode_json, encode_json

SECRET = "xyzzy-plugh"
SECRET_ID = 31_337
LOGS = Path(__file__).parents[3] / "golden" / "logs"
WORDS_OF_THE_FORMAT = set(re.findall(r"[A-Za-z]{5,}", json.dumps(build_schema())))
"""Names of fields and processors, which people say too."""


def full_of_secrets(kind: Any) -> Any:
    """A value of the type with the secret in every text, and its id as every token."""
    if kind is str:
        return SECRET
    if kind is bytes:
        return SECRET.encode()
    if kind in (int, float, bool):
        return kind(1)
    if kind is type(None):
        return None
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) in (types.UnionType, typing.Union):
        return full_of_secrets(get_args(kind)[0])
    if get_origin(kind) is tuple:
        return (full_of_secrets(get_args(kind)[0]),) * 2
    fields = msgspec.structs.fields(kind)
    hints = typing.get_type_hints(kind)
    values = {field.name: full_of_secrets(hints[field.name]) for field in fields}
    for name in ("ids", "candidate_ids", "masked"):
        if name in values:
            values[name] = (SECRET_ID, SECRET_ID + 1)
    if "candidate_ids" in values:
        values |= {"id": SECRET_ID, "candidate_logits": (1.0, 0.5)}
    return kind(**values)


@pytest.mark.parametrize("kind", get_args(AnyEvent), ids=lambda kind: kind.__name__)
def test_no_text_and_no_token_of_any_event_is_left(kind: Any) -> None:
    event = full_of_secrets(kind)
    shown = [each for frame in redact([Frame(seq=1, events=(event,))]) for each in frame.events]
    told = json.loads(msgspec.json.encode(shown))
    names = {"client", "by", "stage", "code", "classifier", "version", "policy", "category", "role", "reason"}
    names |= {"device", "model", "architecture", "quantization", "compute", "server", "tokenizer", "currency"}
    # What the service says of itself.
    names |= {"price_version", "request_id", "agent_of", "http_version", "tls_version"}
    assert SECRET not in json.dumps(_without(told, names))
    assert str(SECRET_ID) not in json.dumps(told)


def _without(told: Any, names: set[str]) -> Any:
    if isinstance(told, dict):
        return {name: _without(value, names) for name, value in told.items() if name not in names}
    return [_without(each, names) for each in told] if isinstance(told, list) else told


def logs() -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted(LOGS.glob("*.json"))]


def read_log(path: Path) -> list[Frame]:
    data = json.loads(path.read_text("utf-8"))
    return msgspec.convert(data["frames"] if isinstance(data, dict) else data, list[Frame], strict=False)


def words_of(frames: list[Frame]) -> set[str]:
    """Every word of five letters or more that was said."""
    found: list[str] = []
    for frame in frames:
        for event in frame.events:
            if isinstance(event, ContextAssembled):
                found += [segment.text for segment in event.segments if segment.kind != "template"]
            if isinstance(event, TextReleased):
                found.append(event.text)
            if isinstance(event, TokenSampled):
                found += [piece.decode(errors="ignore") for piece in event.candidate_pieces]
    return set(re.findall(r"[A-Za-z]{5,}", " ".join(found)))


@pytest.mark.parametrize("path", logs())
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "html"])
def test_no_file_of_a_recorded_request_has_a_word_of_it(path: Path, name: str) -> None:
    frames = read_log(path)
    words = words_of(frames)
    summary = {"title": " ".join(sorted(words)), "error": {"stage": "s", "code": "c", "message": " ".join(words)}}
    redacted = redact(frames)
    data = FORMATS[name].encode(redacted, redact_summary(summary))
    if name == "sgtrace":
        data = encode_json(archive.decode(data).frames, archive.decode(data).summary)
    told = words & set(re.findall(r"[A-Za-z]{5,}", data.decode())) - WORDS_OF_THE_FORMAT
    assert bool(words) == (path.stem != "blocked")
    assert told == set()


@pytest.mark.parametrize("path", logs())
def test_a_redacted_trace_is_read_again_and_says_the_same_of_times_counts_and_probabilities(path: Path) -> None:
    frames = read_log(path)
    redacted = redact(frames)
    assert archive.decode(archive.encode(redacted, {})).frames == redacted
    assert decode_json(encode_json(redacted, {})).frames == redacted
    before = [event for frame in frames for event in frame.events]
    after = [event for frame in redacted for event in frame.events]
    assert [(type(event), event.at) for event in after] == [(type(event), event.at) for event in before]
    for was, now in zip(before, after, strict=True):
        if isinstance(was, TokenSampled) and isinstance(now, TokenSampled):
            same = ("position", "logprob", "rank", "entropy", "u", "low", "high", "candidate_logits", "step_us")
            assert [getattr(now, name) for name in same] == [getattr(was, name) for name in same]
            if was.id in was.candidate_ids:
                assert now.candidate_ids.index(now.id) == was.candidate_ids.index(was.id)
            assert len(set(now.candidate_ids)) == len(was.candidate_ids)
        if isinstance(was, PromptTokenized) and isinstance(now, PromptTokenized):
            assert (len(now.ids), now.special) == (len(was.ids), was.special)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.lists(st.sampled_from([b"", b"a", b"\xf0\x9f"]), min_size=1)), max_size=9)
)
def test_the_answer_s_marks_are_its_tokens_marks(releases: list[tuple[int, list[bytes]]]) -> None:
    """So that what is drawn of the text and what is drawn of the tokens agree."""
    events: list[AnyEvent] = []
    num_tokens = 0
    for pieces in releases:
        for piece in pieces:
            events.append(msgspec.structs.replace(token(num_tokens), piece=piece))
            num_tokens += 1
        events.append(TextReleased(at=1, text=SECRET, num_tokens=num_tokens))
    shown = (
        [event for frame in redact([Frame(seq=1, events=tuple(events))]) for event in frame.events] if events else []
    )
    text = "".join(event.text for event in shown if isinstance(event, TextReleased))
    assert text == b"".join(event.piece for event in shown if isinstance(event, TokenSampled)).decode()
    assert text == MARK * sum(bool(piece) for pieces in releases for piece in pieces)


def test_the_settings_that_quote_are_gone_and_the_others_stay() -> None:
    accepted = full_of_secrets(RequestAccepted)
    (frame,) = redact([Frame(seq=1, events=(accepted,))])
    (shown,) = frame.events
    assert isinstance(shown, RequestAccepted)
    assert (shown.params.json_schema, shown.params.regex, shown.params.stop) == (None, None, ())
    assert shown.params.temperature == accepted.params.temperature


def test_a_token_that_a_person_chose_stays_one() -> None:
    chosen = msgspec.structs.replace(token(1), u=0.5, low=None, high=None, chosen_by="person")
    ((shown,),) = (frame.events for frame in redact([Frame(seq=1, events=(chosen,))]))
    assert isinstance(shown, TokenSampled)
    assert shown.chosen_by == "person"


def test_the_summary_says_neither_what_nor_where() -> None:
    summary = {"id": "req_a", "title": SECRET, "conversation_id": "conv_b", "rerun_id": None, "cost_nano": 5}
    parts = {"usage": {"output": 3, "later": SECRET}, "safety": None, "forked_from": "req_b", "added_later": SECRET}
    shown = redact_summary(summary | parts | {"error": {"stage": "s", "code": "c", "message": SECRET}})
    assert shown == {
        "id": "req_a",
        "title": "Redacted request",
        "cost_nano": 5,
        "usage": {"output": 3},
        "safety": None,
        "error": {"stage": "s", "code": "c", "message": TEXT},
    }


def test_every_field_of_a_request_s_summary_is_kept_or_known_to_be_left_out() -> None:
    names = about(Request(title=SECRET, forked_from_id="req_b", created_at=timezone.now())).keys()
    assert names - redact_summary(dict.fromkeys(names)).keys() == {"forked_from", "imported_at", "agent_of"}
