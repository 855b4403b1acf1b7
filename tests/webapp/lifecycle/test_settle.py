"""Settling converges: after any earlier run there is one bill, one ledger entry, one end and one trace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
import pytest
import redis
from django.db import connection

from inference.eventlog.clock import unix_us
from inference.eventlog.entry import BEGINNING, Entry
from inference.eventlog.event_log import Fenced
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import (
    AnyEvent,
    BillPosted,
    ContextCompared,
    Frame,
    GenerationFinished,
    GenerationForked,
    PromptTokenized,
    RequestCancelled,
    RequestFailed,
    RequestFinished,
    TextReleased,
    TokenSampled,
    ToolFinished,
)
from inference.protocol.failures import SERVICE_STOPPED, Failure
from inference.protocol.request import FinishReason, Usage
from tests.events import STARTED
from tests.webapp.traces.file.test_archive import token
from tests.webapp.watching import STALL_S, attend_after
from webapp.lifecycle import watchdog
from webapp.lifecycle.settle import beginning, end, record, settle, settled
from webapp.lifecycle.stop import stop
from webapp.lifecycle.stream.frames import WireFrame, frames, hub
from webapp.lifecycle.tasks import prepare
from webapp.models.billing.models import LedgerEntry
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.outcome import fold
from webapp.surfaces.chat.models import Conversation, Message
from webapp.traces import store
from webapp.traces.file import import_check
from webapp.traces.file.archive import decode, encode
from webapp.traces.file.column_writer import to_columns
from webapp.traces.file.columns import TokenColumns
from webapp.traces.models import Trace
from webapp.usage.models import UsageRecord

pytestmark = pytest.mark.django_db(transaction=True)

LOST = Failure("generation", "worker_lost", "The worker was lost. Send it again.")


def log(request: Request, *events: AnyEvent) -> None:
    services.event_log().append(request.pk, events, request.attempt)


def generate(request: Request, reason: FinishReason = "stop") -> None:
    """What the inference worker leaves in the log."""
    usage = Usage(uncached_input=5, output=3)
    log(
        request,
        STARTED,
        TextReleased(at=8, text="Hi!", num_tokens=2),
        GenerationFinished(at=9, finish_reason=reason, usage=usage, prefill_us=1, decode_us=1),
    )


def saved(request: Request, kind: type[AnyEvent]) -> list[AnyEvent]:
    events = [event for frame in store.load_frames(request.pk) for event in frame.events]
    return [event for event in events if isinstance(event, kind)]


def check_settled_once(request: Request) -> None:
    assert len(saved(request, BillPosted)) == 1
    assert len(saved(request, RequestFinished)) == 1
    entry = LedgerEntry.objects.get(request_id=request.pk)
    request.refresh_from_db()
    assert (request.status, request.output_text) == ("done", "Hi!")
    assert request.cost_nano == entry.total_nano


def test_a_failure_whose_report_was_lost_settles_by_its_own_code(request_: Request) -> None:
    finished = GenerationFinished(
        at=9,
        finish_reason="error",
        usage=Usage(),
        prefill_us=0,
        decode_us=0,
        message="Too many requests wait. Try again in a minute.",
        code="overloaded",
    )
    log(request_, STARTED, finished)
    settle(request_.pk)
    request_.refresh_from_db()
    assert (request_.error_stage, request_.error_code) == ("generation", "overloaded")
    assert request_.error_message == finished.message


@pytest.mark.parametrize("step", ["webapp.lifecycle.settle.record", "webapp.traces.store.save"])
@pytest.mark.database
def test_a_run_that_dies_after_any_step_is_completed_by_the_next(
    request_: Request, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    generate(request_)

    def die(*_: object) -> None:
        raise ConnectionError("died here")

    with monkeypatch.context() as patch:
        patch.setattr(step, die)
        with pytest.raises(ConnectionError):
            settle(request_.pk)
    settle(request_.pk)
    check_settled_once(request_)


def test_a_log_hears_of_an_end_that_stands_in_the_database(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may act on the end as soon as the log has it."""
    append, was_committed = RedisEventLog.append, list[bool]()

    def watched(log: RedisEventLog, request_id: str, events: Sequence[AnyEvent], *rest: Any, **named: Any) -> Entry:
        if isinstance(events[-1], RequestFinished):
            was_committed.append(not connection.in_atomic_block and Request.objects.get().is_settled)
        return append(log, request_id, events, *rest, **named)

    generate(request_)
    monkeypatch.setattr(RedisEventLog, "append", watched)
    settle(request_.pk)
    assert was_committed == [True]
    logged = [(frame.seq, frame.events) for frame in services.event_log().read(request_.pk)]
    assert logged == [(frame.seq, frame.events) for frame in store.load_frames(request_.pk)]


def test_a_reader_gets_the_end_that_a_dying_process_did_not_tell(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise redis.ConnectionError

    generate(request_)
    unsettled = Request.objects.get()
    with monkeypatch.context() as patch:
        patch.setattr(RedisEventLog, "append", die)
        settle(request_.pk)
    monkeypatch.setattr("webapp.lifecycle.stream.hub.SILENCE_S", 0.01)
    sent = asyncio.run(all_frames(unsettled))
    events = [event for frame in sent for event in json.loads(frame.json)["events"]]
    assert [event["type"] for event in events][-2:] == ["bill.posted", "request.finished"]
    assert sent[-1].mark.seq == len(events)


async def all_frames(request: Request) -> list[WireFrame]:
    try:
        return [frame async for frame in frames(request, BEGINNING) if isinstance(frame, WireFrame)]
    finally:
        await hub().close()


@pytest.mark.database
def test_a_stop_that_comes_too_late_leaves_the_log_at_its_end(request_: Request) -> None:
    generate(request_)
    late = Request.objects.get()
    settle(request_.pk)
    stop(late)
    with pytest.raises(Fenced):
        services.event_log().append(request_.pk, [RequestCancelled(at=99, by="user")], late.attempt)
    assert isinstance(services.event_log().read(request_.pk)[-1].events[-1], RequestFinished)


@pytest.mark.database
def test_a_log_that_cannot_be_read_is_waited_for_without_the_databases_lock(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object, **__: object) -> None:
        assert not connection.in_atomic_block
        raise redis.TimeoutError

    with monkeypatch.context() as patch:
        patch.setattr(RedisEventLog, "read", hang)
        with pytest.raises(redis.TimeoutError):
            settle(request_.pk)


@pytest.mark.database
def test_tokens_are_packed_without_the_databases_lock(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    def watched(tokens: Sequence[TokenSampled]) -> TokenColumns:
        were_locked.append(connection.in_atomic_block)
        return to_columns(tokens)

    were_locked: list[bool] = []
    monkeypatch.setattr("webapp.traces.file.archive.to_columns", watched)
    sampled = [token(position) for position in range(3)]
    log(request_, tokenized("ab"), *sampled)
    generate(request_)
    settle(request_.pk)
    assert were_locked == [False]
    assert saved(request_, TokenSampled) == sampled


@pytest.mark.database
def test_what_came_into_the_log_before_the_lock_was_had_is_settled_too(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = services.event_log().read(request_.pk)
    log(request_, token(0))
    generate(request_)
    read = RedisEventLog.read

    def read_early(log: RedisEventLog, request_id: str, after: int = 0) -> list[Frame]:
        return read(log, request_id, after) if connection.in_atomic_block else list(before)

    monkeypatch.setattr(RedisEventLog, "read", read_early)
    settle(request_.pk)
    check_settled_once(request_)
    assert len(saved(request_, TokenSampled)) == 1


@pytest.mark.database
def test_later_runs_change_nothing(request_: Request) -> None:
    generate(request_)
    for failure in (None, LOST, None):
        settle(request_.pk, failure)
    check_settled_once(request_)


@pytest.mark.database
def test_a_later_run_reads_nothing(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is delivered again finds the end in the database."""
    generate(request_)
    settle(request_.pk)

    def refuse(*_: object, **__: object) -> None:
        raise redis.ConnectionError

    monkeypatch.setattr(RedisEventLog, "read", refuse)
    settle(request_.pk)
    check_settled_once(request_)


def test_a_complete_answer_is_not_failed_by_the_watchdog(request_: Request) -> None:
    generate(request_)
    attend_after(STALL_S, request_)
    check_settled_once(request_)


def test_an_answer_that_failed_costs_nothing(request_: Request) -> None:
    generate(request_, reason="error")
    settle(request_.pk)
    request_.refresh_from_db()
    assert (request_.status, request_.error_code, request_.cost_nano) == ("failed", "internal", None)
    assert not saved(request_, BillPosted) and not LedgerEntry.objects.exists()
    assert UsageRecord.objects.get().output == 0


def test_a_request_whose_log_was_lost_still_leaves_a_trace_that_can_be_read(
    request_: Request, redis_client: redis.Redis
) -> None:
    redis_client.flushall()
    settle(request_.pk, LOST)
    saved_frames = store.load_frames(request_.pk)
    first, outcome = import_check.check(decode(encode(saved_frames, {})))
    assert first.request_id == request_.pk
    assert outcome.failure is not None and outcome.failure.code == "worker_lost"


def test_a_late_prepare_leaves_a_request_that_was_ended_alone(request_: Request) -> None:
    watchdog.end(request_, LOST)
    num_before = services.event_log().last_seq(request_.pk)
    prepare(request_.pk)
    assert services.event_log().last_seq(request_.pk) == num_before
    assert len(saved(request_, RequestFailed)) == 1


def test_a_prepare_that_was_overtaken_writes_nothing(request_: Request) -> None:
    services.event_log().fence(request_.pk, 2)
    prepare(request_.pk)
    request_.refresh_from_db()
    assert not request_.is_settled
    assert services.event_log().last_seq(request_.pk) == 1


@pytest.mark.database
def test_a_prepare_that_is_delivered_twice_prepares_once(request_: Request) -> None:
    prepare(request_.pk)
    num_before = services.event_log().last_seq(request_.pk)
    prepare(request_.pk)
    assert services.event_log().last_seq(request_.pk) == num_before > 1


@pytest.mark.database
def test_a_nul_in_an_answer_is_stored_as_a_replacement_character(request_: Request) -> None:
    log(request_, TextReleased(at=8, text="a\x00b", num_tokens=2))
    settle(request_.pk, LOST)
    request_.refresh_from_db()
    assert request_.output_text == "a\ufffdb"


@pytest.mark.database
def test_a_nul_in_a_call_or_its_result_is_stored_as_a_replacement_character(request_: Request) -> None:
    accepted = beginning(request_)
    text = 'a\x00b<tool_call>{"name": "calculator", "arguments": {"expression": "1\x00"}}</tool_call>'
    frames = [
        Frame(
            seq=1,
            events=(
                msgspec.structs.replace(accepted, features=("tool:calculator",)),
                TextReleased(at=8, text=text, num_tokens=2),
                ToolFinished(at=9, call_id="call_0_0", result="2\x00", duration_us=1),
                TextReleased(at=10, text="c", num_tokens=1, generation=1),
                RequestFinished(at=11, finish_reason="stop", usage=Usage(output=1)),
            ),
        )
    ]
    record(request_, fold(frames))
    assert request_.rounds is not None and request_.rounds[0]["calls"][0]["result"] == "2\ufffd"
    assert "\\u0000" not in json.dumps(request_.rounds)


def next_turn(request: Request) -> Request:
    """A second request of the first one's conversation, accepted after that had ended."""
    conversation = Conversation.objects.create(user=request.user, model=request.model)
    second = Request.objects.create(
        user=request.user, surface="chat", model=request.model, title="", accepted_unix_us=unix_us()
    )
    for each in (request, second):
        Message.objects.create(conversation=conversation, role="assistant", request=each)
    return second


def tokenized(text: str) -> PromptTokenized:
    pieces = tuple(letter.encode() for letter in text)
    return PromptTokenized(at=2, tokenizer="t", version="1", ids=tuple(map(ord, text)), pieces=pieces, duration_us=1)


def test_a_turn_is_compared_once_with_the_one_before_it(request_: Request) -> None:
    log(request_, tokenized("abcd"))
    generate(request_)
    settle(request_.pk)
    assert saved(request_, ContextCompared) == []
    second = next_turn(request_)
    log(second, tokenized("abX"))
    generate(second)
    for _ in range(2):
        settle(second.pk)
    (compared,) = saved(second, ContextCompared)
    assert isinstance(compared, ContextCompared)
    assert (compared.request_id, compared.num_common_tokens) == (request_.pk, 2)
    assert (compared.here, compared.there) == ((b"X",), ())
    events = [event for frame in store.load_frames(second.pk) for event in frame.events]
    assert isinstance(events[-1], RequestFinished)


def test_the_turn_after_a_fork_is_compared_with_the_whole_answer(request_: Request) -> None:
    kept = GenerationForked(
        at=3, from_request_id="req_x", position=1, ids=(ord("c"), ord("d")), pieces=(b"c", b"d"), text="cd"
    )
    sampled = msgspec.structs.replace(token(2), id=ord("e"), piece=b"e", candidate_ids=(ord("e"),))
    sampled = msgspec.structs.replace(sampled, candidate_pieces=(b"e",), candidate_logits=(1.0,), processors=())
    log(request_, tokenized("ab"), kept, sampled)
    generate(request_)
    settle(request_.pk)
    second = next_turn(request_)
    log(second, tokenized("abcdefg"))
    generate(second)
    settle(second.pk)
    (compared,) = saved(second, ContextCompared)
    assert isinstance(compared, ContextCompared)
    assert (compared.num_prompt_tokens, compared.num_answer_tokens, compared.num_common_tokens) == (2, 3, 5)
    assert compared.here == (b"f", b"g")


def test_a_damaged_turn_before_is_no_reason_to_fail(request_: Request) -> None:
    log(request_, tokenized("abcd"))
    generate(request_)
    settle(request_.pk)
    second = next_turn(request_)
    Trace.objects.filter(pk=request_.pk).update(blob=b"damaged")
    log(second, tokenized("abX"))
    generate(second)
    settle(second.pk)
    assert saved(second, ContextCompared) == []
    assert len(saved(second, RequestFinished)) == 1


def test_who_fails_to_hear_of_an_end_keeps_nobody_else_from_it(request_: Request) -> None:
    heard: list[str] = []

    def fail(**_: object) -> None:
        raise OSError("no room")

    def hear(request: Request, **_: object) -> None:
        heard.append(request.pk)

    settled.connect(fail)
    settled.connect(hear)
    try:
        generate(request_)
        settle(request_.pk)
    finally:
        settled.disconnect(fail)
        settled.disconnect(hear)
    assert heard == [request_.pk]


def test_an_answer_that_was_cut_by_a_stop_whose_caller_died_is_stopped(request_: Request) -> None:
    """The flag reached the worker. The event that tells of it did not reach the log."""
    generate(request_, "abort")
    settle(request_.pk)
    request_.refresh_from_db()
    assert request_.status == "stopped"


def test_an_end_by_name_stands_however_soon_its_worker_sees_the_cancel_flag(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker ends the sequence as aborted. That is no end of its own: no user has stopped it."""
    log(request_, STARTED, TextReleased(at=8, text="Hi!", num_tokens=2))
    cancel = RedisEventLog.cancel
    aborted = GenerationFinished(
        at=9, finish_reason="abort", usage=Usage(uncached_input=5, output=3), prefill_us=1, decode_us=1
    )

    def cancel_with_a_quick_worker(self: RedisEventLog, request_id: str) -> None:
        cancel(self, request_id)
        with suppress(Fenced):
            self.append(request_id, [aborted], request_.attempt)

    monkeypatch.setattr(RedisEventLog, "cancel", cancel_with_a_quick_worker)
    end(request_.pk, SERVICE_STOPPED)
    request_.refresh_from_db()
    assert (request_.status, request_.error_code) == ("failed", "service_stopped")
    assert not LedgerEntry.objects.exists() and services.event_log().is_cancelled([request_.pk]) == [True]


def test_a_request_that_is_ended_leaves_its_keys_for_an_hour_at_most(
    request_: Request, redis_client: redis.Redis
) -> None:
    end(request_.pk, SERVICE_STOPPED)
    left = {key: redis_client.ttl(key) for key in redis_client.scan_iter(f"*{request_.pk}*")}
    assert left and all(0 < ttl <= 3600 for ttl in left.values()), left
