"""The log of an open request decides its next step, once, whatever was lost."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from inference.eventlog.entry import end_of
from inference.eventlog.event_log import Fenced
from inference.protocol.codec import decode_generation
from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationFinished,
    GenerationInterrupted,
    GenerationQueued,
    GenerationResumed,
    PromptTokenized,
    RequestFailed,
    TextReleased,
)
from inference.protocol.failures import LOG_LOST
from inference.protocol.generations import numbered
from inference.protocol.request import Usage
from tests.inference.worker.test_output_guard import token
from tests.queues import GENERATE
from tests.webapp.lifecycle.test_dispatch import body, kinds
from tests.webapp.watching import StillClock
from webapp.lifecycle.advance import advance, is_to_blame, last_begun, next_step, report
from webapp.lifecycle.dispatch import queue_generation
from webapp.lifecycle.settle import settle
from webapp.lifecycle.tasks import prepare
from webapp.lifecycle.watchdog import Watch
from webapp.requests import services
from webapp.requests.models import Request

database = pytest.mark.django_db(transaction=True)


def attempts_in(client: redis.Redis) -> list[int]:
    """Attempts of the queued generations, in order."""
    messages: Any = client.lrange(GENERATE, 0, -1)
    found = []
    for _ in messages:
        client.lmove(GENERATE, GENERATE, "RIGHT", "LEFT")
        found.append(decode_generation(body(client, GENERATE)[0]).attempt)
    return found


def append(request: Request, *events: AnyEvent) -> None:
    request.refresh_from_db()
    services.event_log().append(request.pk, events, request.attempt)


def events_of(request: Request) -> list[AnyEvent]:
    return [event for frame in services.event_log().read(request.pk) for event in frame.events]


def overdue() -> list[str]:
    return list(services.leases().overdue())


@database
def test_a_lost_preparation_is_queued_again(request_: Request, redis_client: redis.Redis) -> None:
    advance(request_.pk)
    assert body(redis_client, "prepare") == [request_.pk]
    prepare(request_.pk)
    assert attempts_in(redis_client) == [1]


@database
def test_a_generation_waits_in_its_queue_and_is_queued_again_when_its_message_is_lost(
    request_: Request, redis_client: redis.Redis
) -> None:
    prepare(request_.pk)
    advance(request_.pk)
    assert attempts_in(redis_client) == [1]
    redis_client.delete(GENERATE)
    advance(request_.pk)
    assert attempts_in(redis_client) == [2]
    assert GenerationInterrupted not in kinds(request_)
    with pytest.raises(Fenced):
        services.event_log().claim(request_.pk, 1)


@database
def test_a_lost_workers_answer_goes_to_another_with_the_same_prompt(
    request_: Request, redis_client: redis.Redis
) -> None:
    prepare(request_.pk)
    first = decode_generation(body(redis_client, GENERATE)[0])
    redis_client.delete(GENERATE)
    assert services.event_log().claim(request_.pk, 1)
    append(request_, token(0, b"x"), TextReleased(at=9, text="x", num_tokens=1))
    advance(request_.pk)
    second = decode_generation(body(redis_client, GENERATE)[0])
    assert (first.is_resumed, second.is_resumed) == (False, True)
    assert (first.prompt_ids, first.params, first.kept_ids) == (second.prompt_ids, second.params, second.kept_ids)
    assert kinds(request_)[-2:] == [GenerationInterrupted, GenerationQueued]
    assert second.log_seq == services.event_log().last_seq(request_.pk)


@database
@pytest.mark.database
def test_of_several_watchdogs_one_takes_over(request_: Request, redis_client: redis.Redis) -> None:
    prepare(request_.pk)
    redis_client.delete(GENERATE)
    services.event_log().claim(request_.pk, 1)
    services.leases().grant(request_.pk, 1, 0)
    clock = StillClock()
    watches = [Watch(clock) for _ in range(4)]
    for clock.now in (0.0, 1.0):
        for watch in watches:
            watch.advance_overdue()
    assert attempts_in(redis_client) == [2]
    request_.refresh_from_db()
    assert request_.attempt == 2


@database
def test_a_lost_report_is_sent_again_and_a_settled_request_has_no_lease(
    request_: Request, redis_client: redis.Redis
) -> None:
    prepare(request_.pk)
    append(request_, GenerationFinished(at=9, finish_reason="stop", usage=Usage(), prefill_us=0, decode_us=0))
    advance(request_.pk)
    assert body(redis_client, "settle") == [request_.pk]
    settle(request_.pk)
    request_.refresh_from_db()
    assert request_.status == "done"
    assert services.leases().missing([request_.pk]) == [request_.pk]


@database
def test_a_request_that_ended_two_workers_is_refused_by_name(request_: Request, redis_client: redis.Redis) -> None:
    prepare(request_.pk)
    for attempt in (1, 2):
        redis_client.delete(GENERATE)
        services.event_log().claim(request_.pk, attempt)
        if attempt > 1:
            append(request_, GenerationResumed(at=9, attempt=attempt, worker="w", num_tokens=0))
        advance(request_.pk)
    request_.refresh_from_db()
    assert (request_.status, request_.error_code) == ("failed", "ended_workers")
    assert kinds(request_)[-1] is RequestFailed and redis_client.llen(GENERATE) == 0


@database
def test_a_watchdog_acts_on_a_deadline_that_stays_over(request_: Request, redis_client: redis.Redis) -> None:
    clock = StillClock()
    watch = Watch(clock)

    def queued_after(seconds: float) -> int:
        clock.now += seconds
        watch.advance_overdue()
        num: Any = redis_client.llen("prepare")
        return int(num)

    services.leases().grant(request_.pk, 1, 0)
    assert (queued_after(0), queued_after(0.3)) == (0, 0)
    services.leases().grant(request_.pk, 1, -1)  # renewed, and overdue again
    assert (queued_after(0.5), queued_after(0.3), queued_after(1), queued_after(1)) == (0, 0, 1, 1)


@database
def test_an_answer_whose_take_over_died_half_way_is_still_resumed(request_: Request, redis_client: redis.Redis) -> None:
    prepare(request_.pk)
    redis_client.delete(GENERATE)
    services.event_log().claim(request_.pk, 1)
    append(request_, GenerationResumed(at=8, attempt=1, num_tokens=0), token(0, b"x"))
    Request.objects.filter(pk=request_.pk).update(attempt=2)  # the watchdog died before it told the log
    advance(request_.pk)
    assert decode_generation(body(redis_client, GENERATE)[0]).is_resumed
    told = [event for event in events_of(request_) if isinstance(event, GenerationInterrupted)]
    assert [event.attempt for event in told] == [1]


@database
def test_a_failure_of_an_attempt_that_was_taken_over_changes_nothing(request_: Request) -> None:
    prepare(request_.pk)
    services.event_log().claim(request_.pk, 1)
    Request.objects.filter(pk=request_.pk).update(attempt=2)
    report(request_.pk, LOG_LOST, 1)
    request_.refresh_from_db()
    assert not request_.is_settled
    report(request_.pk, LOG_LOST, 2)
    request_.refresh_from_db()
    assert request_.error_code == "log_lost"


@database
def test_two_ends_that_a_worker_told_itself_refuse_the_request(request_: Request, redis_client: redis.Redis) -> None:
    prepare(request_.pk)
    services.event_log().claim(request_.pk, 1)
    append(request_, lost(1), resumed(1), lost(1))
    redis_client.delete(GENERATE)
    advance(request_.pk)
    request_.refresh_from_db()
    assert request_.error_code == "ended_workers"


FINISHED = GenerationFinished(at=9, finish_reason="stop", usage=Usage(), prefill_us=0, decode_us=0)


def with_second_prompt(request: Request) -> list[AnyEvent]:
    """The request's log with a finished generation and the prompt of the next one, which has a token more."""
    events = [*events_of(request), FINISHED]
    (context,) = [event for event in events if isinstance(event, ContextAssembled)]
    (prompt,) = [event for event in events if isinstance(event, PromptTokenized)]
    longer = replace(prompt, ids=(*prompt.ids, 7), pieces=(*prompt.pieces, b"x"))
    return [*events, numbered(context, 1), numbered(longer, 1)]


@database
def test_a_lost_second_generation_goes_on_with_its_own_prompt(request_: Request, redis_client: redis.Redis) -> None:
    prepare(request_.pk)
    append(request_, resumed(1), token(0, b"x"))
    first = decode_generation(body(redis_client, GENERATE)[0])
    redis_client.delete(GENERATE)
    events = with_second_prompt(request_)
    Request.objects.filter(pk=request_.pk).update(attempt=2)
    request_.refresh_from_db()
    queue_generation(request_, events, end_of(services.event_log().read(request_.pk)))
    second = decode_generation(body(redis_client, GENERATE)[0])
    assert (second.generation, second.attempt, second.is_resumed) == (1, 2, False)
    assert second.prompt_ids == (*first.prompt_ids, 7)
    redis_client.delete(GENERATE)
    services.event_log().claim(request_.pk, 2)
    append(request_, numbered(token(0, b"y"), 1))
    advance(request_.pk)
    third = decode_generation(body(redis_client, GENERATE)[0])
    assert (third.generation, third.attempt, third.is_resumed) == (1, 3, True)
    assert third.prompt_ids == second.prompt_ids
    told = [event for event in events_of(request_) if isinstance(event, GenerationInterrupted | GenerationQueued)]
    assert [event.generation for event in told] == [0, 1, 1, 1]


def test_a_log_decides_by_its_last_generation_alone() -> None:
    prompt = PromptTokenized(at=1, tokenizer="t", version="1", ids=(1,), pieces=(b"",), duration_us=0)
    first: list[AnyEvent] = [prompt, resumed(1), token(0, b"x"), lost(1), resumed(2), lost(2), FINISHED]
    assert (next_step(first), is_to_blame(first), last_begun(first)) == ("settle", True, 2)
    second = [*first, numbered(prompt, 1)]
    assert (next_step(second), is_to_blame(second), last_begun(second)) == ("generate", False, None)
    begun = [*second, numbered(resumed(3), 1), numbered(lost(3), 1)]
    assert (next_step(begun), is_to_blame(begun), last_begun(begun)) == ("generate", False, 3)
    assert next_step([*begun, numbered(FINISHED, 1)]) == "settle"


@database
def test_an_open_request_without_a_lease_gets_one(request_: Request) -> None:
    assert overdue() == []
    Watch().attend_all()
    assert overdue() == [request_.pk]


@database
def test_the_lease_of_a_request_that_is_gone_is_removed(request_: Request) -> None:
    request_id = request_.pk
    services.leases().grant(request_id, 1, 0)
    request_.delete()
    advance(request_id)
    assert overdue() == []


def lost(attempt: int) -> GenerationInterrupted:
    return GenerationInterrupted(at=0, attempt=attempt, cause="lost", silent_us=0)


def resumed(attempt: int) -> GenerationResumed:
    return GenerationResumed(at=0, attempt=attempt, num_tokens=0)


def test_an_attempt_lost_before_its_turn_is_not_to_blame() -> None:
    assert not is_to_blame([lost(1), lost(2), lost(3)])
    assert is_to_blame([lost(1), resumed(2), lost(2)])
    assert is_to_blame([lost(1), lost(2), resumed(3), lost(3)])
    assert not is_to_blame([lost(1), resumed(2), token(0, b"x"), lost(2)])


def test_a_request_whose_attempts_never_get_their_turn_is_not_tried_for_ever() -> None:
    assert not is_to_blame([lost(attempt) for attempt in range(1, 17)])
    assert is_to_blame([lost(attempt) for attempt in range(1, 18)])


@given(st.lists(st.sampled_from(["lost", "stopped", "token"]), max_size=20))
def test_blame_needs_two_losses_in_a_row_or_many_in_all(story: list[str]) -> None:
    events: list[AnyEvent] = []
    for attempt, what in enumerate(story, 1):
        if what == "token":
            events.append(token(attempt, b"x"))
            continue
        events += [resumed(attempt), GenerationInterrupted(at=0, attempt=attempt, cause=what, silent_us=0)]  # type: ignore[arg-type]
    rows = [what for what in story if what != "stopped"]
    streak = len(rows) - 1 - max((at for at, what in enumerate(rows) if what == "token"), default=-1)
    assert is_to_blame(events) == (streak >= 2 or rows.count("lost") >= 8)
