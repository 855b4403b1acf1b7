"""What the recorded logs add up to equals what the running product said of the same requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from inference.protocol.codec import decode_frame, encode_frame
from inference.protocol.events import Frame, GenerationStarted, RequestAccepted, TextReleased, TokenSampled
from inference.protocol.request import SamplingParams
from inference.sampling.draw import uniform
from webapp.billing.bill import bill_event, post_bill
from webapp.billing.models import LedgerEntry
from webapp.lifecycle.settle import record
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
    frames = [decode_frame(json.dumps(frame)) for frame in document["frames"]]
    return Golden(frames, document["frames"], **document["said"])


def test_each_way_that_a_request_may_end_is_recorded() -> None:
    names = ["blocked", "finished", "lost", "remote", "second_turn", "stopped", "taken_over"]
    assert [path.stem for path in LOGS] == names


def test_the_protocol_still_reads_and_writes_them(golden: Golden) -> None:
    """What was recorded comes out as it was; a field that came later is there beside it."""
    for frame, wire in zip(golden.frames, golden.wire, strict=True):
        written = json.loads(encode_frame(frame))
        assert laid_over(written, wire) == written
    seqs = [frame.seq for frame in golden.frames]
    assert seqs == [1, *(frame.last_seq + 1 for frame in golden.frames[:-1])]


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
    assert len(golden.tokens) == (released[-1].num_tokens if released else 0)
    assert b"".join(token.piece for token in golden.tokens).decode() == "".join(e.text for e in released)


def test_every_draw_is_the_seeds_and_falls_on_the_token_shown(golden: Golden) -> None:
    seed = golden.params.seed
    assert seed is not None
    for token in golden.tokens:
        if golden.is_remote:
            assert (token.u, token.low, token.high) == (None, None, None)
            continue
        assert token.u == pytest.approx(uniform(seed, token.position))
        assert token.low <= token.u < token.high
