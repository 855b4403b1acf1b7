"""The outcome of a request's events when a person chose its tokens."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.utils import timezone
from msgspec.structs import replace

from inference.protocol.events import (
    AnyEvent,
    Frame,
    GenerationFinished,
    RequestAccepted,
    RequestFinished,
    TextReleased,
    ThinkingEnded,
    ThinkingReleased,
    TokenProposed,
)
from inference.protocol.request import SamplingParams, Usage
from tests.webapp.inputs import asked
from tests.webapp.lifecycle.test_fork import sampled
from webapp.requests.models import Request
from webapp.requests.outcome import fold
from webapp.surfaces.calls.answer import AnswerReader, Ended
from webapp.traces import store

TOKEN = sampled(0, 50)
USAGE = Usage(uncached_input=3, cache_read=40, output=2)
ACCEPTED = RequestAccepted(
    at=0, request_id="req_a", surface="chat", model="m", params=SamplingParams(), accepted_unix_us=1
)


def proposed(at: int) -> TokenProposed:
    return TokenProposed(at=at, token=TOKEN)


def sampled_at(at: int) -> AnyEvent:
    return replace(TOKEN, at=at)


def released(at: int) -> TextReleased:
    return TextReleased(at=at, text="a", num_tokens=1)


def finished(at: int) -> GenerationFinished:
    return GenerationFinished(at=at, finish_reason="abort", usage=USAGE, prefill_us=1, decode_us=1)


@pytest.mark.parametrize(
    ("events", "first"),
    [
        ([sampled_at(50), released(60)], 60),
        ([proposed(50), sampled_at(1050), released(1060)], 60),
        ([proposed(50), sampled_at(1050), proposed(1060), sampled_at(2060), released(2070)], 70),
        # The next one was proposed while the first text was still being checked.
        ([proposed(50), sampled_at(1050), proposed(1060), released(1070), sampled_at(9000)], 60),
        ([proposed(50), sampled_at(1050), proposed(1060), released(1070), finished(9000)], 60),
        ([proposed(50), sampled_at(1050), released(1060), proposed(1070), sampled_at(9000)], 60),
        ([proposed(50)], None),
    ],
)
def test_the_first_text_and_token_are_timed_without_what_a_person_took(
    events: list[AnyEvent], first: int | None
) -> None:
    found = fold([Frame(seq=1, events=(ACCEPTED, *events))])
    assert found.first_text_us == first
    assert found.first_token_us == (None if first is None else 50)


def test_the_times_between_tokens_are_without_what_a_person_took() -> None:
    def between(*events: AnyEvent) -> dict[str, int] | None:
        return fold([Frame(seq=1, events=(ACCEPTED, *events))]).between_tokens_us

    assert between(sampled_at(50)) is None
    quick = [sampled_at(at) for at in (50, 60, 70, 70, 120)]
    assert between(*quick) == {"mean": 18, "median": 10, "p95": 50, "worst": 50}
    chosen = [proposed(50), sampled_at(1050), proposed(1060), sampled_at(5060)]
    assert between(*chosen) == {"mean": 10, "median": 10, "p95": 10, "worst": 10}


@pytest.mark.django_db
def test_refusals_and_withheld_answers_of_before_get_a_status_of_their_own() -> None:
    user = User.objects.create_user("alice")
    ends = [
        ("failed", "blocked", ""),
        ("failed", "no_worker", ""),
        ("done", "", "content_filter"),
        ("done", "", "stop"),
    ]
    rows = [
        Request.objects.create(user=user, status=status, error_code=code, finish_reason=reason)
        for status, code, reason in ends
    ]
    import_module("webapp.requests.migrations.0007_first_token_and_outcomes").tell_refusals_apart(apps, None)
    for row in rows:
        row.refresh_from_db()
    assert [row.status for row in rows] == ["blocked", "failed", "withheld", "done"]


@pytest.mark.django_db
def test_rows_of_before_get_their_figures_from_what_was_saved(caplog: pytest.LogCaptureFixture) -> None:
    user = User.objects.create_user("alice")
    known: dict[str, Any] = {"surface": "chat", "model": "m", "title": "T", "finished_at": timezone.now()}
    events = (ACCEPTED, proposed(50), sampled_at(1050), released(1060), finished(1070))
    end = RequestFinished(at=1080, finish_reason="abort", usage=USAGE)
    usage = {"uncached_input": 3, "cache_read": 40, "output": 2}
    rows = [
        Request.objects.create(user=user, usage=usage, first_token_us=1060, input=asked(is_stepped=is_stepped), **known)
        for is_stepped in (True, True, False)
    ]
    imported = Request.objects.create(
        user=user, is_imported=True, accepted_unix_us=10**15, first_token_us=1060, **known
    )
    for row in (*rows, imported):
        store.save(row, [Frame(seq=1, events=(*events, end))])
    rows[1].trace.blob = b"damaged"
    rows[1].trace.save()
    import_module("webapp.requests.migrations.0005_figures_of_former_requests").count_tokens(apps, None)
    import_module("webapp.requests.migrations.0005_figures_of_former_requests").date_imports(apps, None)
    import_module("webapp.traces.migrations.0007_first_text_in_step_mode").leave_out_choices(apps, None)
    for row in (*rows, imported):
        row.refresh_from_db()
    assert [(row.num_input_tokens, row.num_output_tokens) for row in (*rows, imported)] == [(43, 2)] * 3 + [
        (None, None)
    ]
    # The field of that name was the first text's then.
    assert [row.first_token_us for row in (*rows, imported)] == [60, 1060, 1060, 60]
    assert rows[1].pk in caplog.text
    assert (imported.created_at.timestamp(), rows[0].created_at.year) == (10**9, timezone.now().year)


def test_thinking_is_never_more_than_the_output_that_the_server_counts() -> None:
    thought = ThinkingEnded(at=60, num_tokens=9, duration_us=3, cause="model")
    events = (ACCEPTED, sampled_at(50), thought, released(70), replace(finished(80), finish_reason="stop"))
    found = fold([Frame(seq=1, events=events)])
    assert (found.usage.output, found.billable_thinking) == (2, 2)
    released_thought = ThinkingReleased(at=55, text="Hm", num_tokens=9)
    end = RequestFinished(at=90, finish_reason="stop", usage=USAGE)
    ended = AnswerReader().feed([*events[:2], released_thought, end])[-1]
    assert isinstance(ended, Ended) and ended.num_thinking_tokens == 2
