"""What the recorded logs add up to equals what the running product said of the same requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from django.contrib.auth.models import User
from msgspec.structs import fields

from inference.protocol.codec import decode_frame, encode_frame
from inference.protocol.events import AnyEvent, Frame, GenerationStarted, RequestAccepted, TextReleased, TokenSampled
from inference.protocol.request import SamplingParams
from inference.sampling.draw import uniform
from webapp.lifecycle.settle import record
from webapp.models.billing.bill import bill_event, post_bill
from webapp.models.billing.models import LedgerEntry
from webapp.requests.models import Request
from webapp.requests.outcome import fold
from webapp.requests.summary import about
from webapp.traces.file.archive import decode, encode
from webapp.traces.file.column_reader import from_columns
from webapp.traces.file.column_writer import to_columns

LOGS = sorted((Path(__file__).parent / "logs").glob("*.json"))
OF_THE_ROW = (
    "status",
    "usage",
    "cost_nano",
    "currency",
    "finish_reason",
    "error",
    "num_events",
    "duration_us",
    "first_text_us",
)


@dataclass(frozen=True)
class Golden:
    """One recorded request."""

    frames: list[Frame]
    wire: list[dict[str, Any]]
    summary: dict[str, Any]
    text: str
    ledger_nano: int

    @property
    def tokens(self) -> list[TokenSampled]:
        return [event for frame in self.frames for event in frame.events if isinstance(event, TokenSampled)]

    @property
    def is_remote(self) -> bool:
        """Whether a server elsewhere made the tokens, with a draw of its own."""
        events = [event for frame in self.frames for event in frame.events]
        return any(isinstance(event, GenerationStarted) and event.server is not None for event in events)

    @property
    def params(self) -> SamplingParams:
        first = self.frames[0].events[0]
        assert isinstance(first, RequestAccepted)
        return first.params


@pytest.fixture(params=LOGS, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> Golden:
    document = json.loads(request.param.read_text("utf-8"))
    return Golden(read(request.param.stem), document["frames"], **document["said"])


def read(name: str) -> list[Frame]:
    document = json.loads((LOGS[0].parent / f"{name}.json").read_text("utf-8"))
    return [decode_frame(json.dumps(frame)) for frame in document["frames"]]


def test_each_way_that_a_request_may_end_is_recorded() -> None:
    names = ["blocked", "finished", "lost", "remote", "second_taken_over", "second_turn", "stopped", "taken_over"]
    assert [path.stem for path in LOGS] == [*names, "two_generations"]


def test_the_protocol_still_reads_and_writes_them(golden: Golden) -> None:
    """What was recorded comes out as it was; a field that came later is there beside it."""
    for frame, wire in zip(golden.frames, golden.wire, strict=True):
        written = filled(json.loads(encode_frame(frame)))
        assert laid_over(written, wire) == written
    seqs = [frame.seq for frame in golden.frames]
    assert seqs == [1, *(frame.last_seq + 1 for frame in golden.frames[:-1])]


DEFAULTS = {
    kind.__struct_config__.tag: {f.name: json.loads(json.dumps(f.default)) for f in fields(kind) if not f.required}
    for kind in get_args(AnyEvent)
    if kind.__struct_config__.omit_defaults
}


def filled(value: Any) -> Any:
    """The value with the fields that the wire leaves out, as the page fills them in."""
    if isinstance(value, list):
        return [filled(each) for each in value]
    if isinstance(value, dict):
        return DEFAULTS.get(value.get("type"), {}) | {name: filled(each) for name, each in value.items()}
    return value


def laid_over(new: Any, old: Any) -> Any:
    """What is new, with all that is old as it was, at any depth."""
    match new, old:
        case dict(), dict():
            return new | {name: laid_over(new.get(name), value) for name, value in old.items()}
        case list(), list() if len(new) == len(old):
            return [laid_over(*pair) for pair in zip(new, old, strict=True)]
    return old


@pytest.mark.django_db
def test_the_fold_gives_the_row_that_the_product_wrote(golden: Golden) -> None:
    outcome = fold(golden.frames)
    assert outcome.is_terminal
    assert outcome.text == golden.text
    request = Request(user=User.objects.create_user("alice"), surface="chat", model=golden.summary["model"])
    record(request, outcome)
    shown = about(request)
    assert {name: shown[name] for name in OF_THE_ROW} == {name: golden.summary[name] for name in OF_THE_ROW}


@pytest.mark.django_db
def test_the_bill_computed_again_is_the_bill_that_was_posted(golden: Golden) -> None:
    outcome = fold(golden.frames)
    if outcome.bill is None:
        assert (golden.ledger_nano, golden.summary["cost_nano"]) == (0, None)
        return
    alice = User.objects.create_user("alice")
    again = post_bill(golden.summary["id"], alice.pk, golden.summary["model"], outcome.usage)
    assert bill_event(again, outcome.bill.at) == outcome.bill
    assert LedgerEntry.objects.get().total_nano == golden.ledger_nano


def test_tokens_survive_as_columns_and_the_log_as_a_file(golden: Golden) -> None:
    assert from_columns(to_columns(golden.tokens)) == golden.tokens
    assert decode(encode(golden.frames, golden.summary)).frames == golden.frames


def test_no_token_is_seen_that_no_released_text_covers(golden: Golden) -> None:
    released = [e for frame in golden.frames for e in frame.events if isinstance(e, TextReleased)]
    for generation in fold(golden.frames).generations:
        own = [event for event in released if event.generation == generation.number]
        assert len(generation.tokens) == (own[-1].num_tokens if own else 0)
        assert b"".join(token.piece for token in generation.tokens).decode() == "".join(event.text for event in own)


@pytest.mark.parametrize("name", ["two_generations", "second_taken_over"])
def test_a_second_generation_has_its_own_prompt_tokens_and_attempts(name: str) -> None:
    outcome = fold(read(name))
    first, second = outcome.generations
    assert first.prompt is not None and second.prompt is not None
    before = (*first.prompt.ids, *(token.id for token in first.tokens))
    assert second.prompt.ids[: len(before)] == before
    for generation in (first, second):
        assert [token.position for token in generation.tokens] == list(range(len(generation.tokens)))
    assert outcome.text == first.text + second.text
    assert outcome.usage.output == len(first.tokens) + len(second.tokens)
    assert outcome.usage.uncached_input == first.usage.uncached_input + second.usage.uncached_input
    assert outcome.context == second.context
    assert outcome.finish_reason == second.finish_reason
    assert outcome.first_token_us == first.tokens[0].at
    assert [(attempt.number, attempt.end) for attempt in first.attempts] == [(1, "finished")]
    ends = [(attempt.number, attempt.end) for attempt in second.attempts]
    assert ends == ([(2, "finished")] if name == "two_generations" else [(2, "lost"), (3, "finished")])
    if name == "second_taken_over":
        assert [attempt.worker for attempt in second.attempts] == ["worker:101:0a1b", "worker:202:2c3d"]


def test_every_draw_is_the_seeds_and_falls_on_the_token_shown(golden: Golden) -> None:
    seed = golden.params.seed
    assert seed is not None
    for token in golden.tokens:
        if golden.is_remote:
            assert (token.u, token.low, token.high) == (None, None, None)
            continue
        assert token.u == pytest.approx(uniform(seed, token.position))
        assert token.low <= token.u < token.high
