"""An answer that calls tools of the server goes on with their results, in the same request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import msgspec
import pytest
import redis
from django.conf import settings

from inference.protocol.codec import decode_generation
from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationFinished,
    PromptTokenized,
    RequestAccepted,
    RequestCancelled,
    RequestFinished,
    TextReleased,
    TokenSampled,
    ToolCalled,
    ToolFinished,
)
from inference.protocol.generations import last_number, numbered
from inference.protocol.request import GenerationRequest, SamplingParams, Usage
from inference.protocol.tool_calls import ToolCalls, written
from tests.inference.worker.test_output_guard import token
from tests.queues import GENERATE
from tests.webapp.inputs import asked
from tests.webapp.lifecycle.test_dispatch import body
from webapp.ground.context.assemble import Assembler
from webapp.lifecycle.advance import advance, next_step, report
from webapp.lifecycle.stop import stop
from webapp.lifecycle.tasks import prepare
from webapp.lifecycle.tool_calls import run_calls
from webapp.lifecycle.watchdog import Watch
from webapp.models.billing.models import LedgerEntry
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.rounds import MAX_ROUNDS, flags_of, is_pausing, rounds_of
from webapp.tools.catalog import definitions_of
from webapp.usage.models import UsageRecord

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ("calculator", "current_time")
PARAMS = SamplingParams(max_tokens=50, tool_calls=ToolCalls(tools=definitions_of(NAMES), is_required=True), seed=1)
CALL = written("calculator", '{"expression": "17 * 23"}')


@pytest.fixture
def calling(redis_client: redis.Redis, request_: Request) -> Request:
    """A prepared request that may call tools; its first generation waits in its queue."""
    source = msgspec.structs.replace(asked("What is 17 * 23?"), features=flags_of(NAMES))
    request_.input, request_.params = source, msgspec.to_builtins(PARAMS)
    request_.save()
    services.event_log().forget(request_.pk)
    Request.objects.filter(pk=request_.pk).delete()
    request_.pk = request_.id = "req_" + "c" * 22
    request_.save(force_insert=True)
    accepted = RequestAccepted(
        at=0,
        request_id=request_.pk,
        surface="chat",
        model=request_.model,
        params=PARAMS,
        features=source.features,
        accepted_unix_us=request_.accepted_unix_us,
    )
    services.event_log().append(request_.pk, [accepted], 1)
    prepare(request_.pk)
    return request_


def generated(client: redis.Redis) -> GenerationRequest:
    return decode_generation(body(client, GENERATE)[0])


def answered(request: Request, client: redis.Redis, text: str, reason: str = "stop") -> None:
    """Do what a worker does with the queued generation, and report it."""
    asked_of = generated(client)
    client.delete(GENERATE)
    log = services.event_log()
    assert log.claim(request.pk, asked_of.attempt)
    events: list[AnyEvent] = [
        token(0, text.encode()),
        TextReleased(at=9, text=text, num_tokens=1),
        GenerationFinished(
            at=9,
            finish_reason=reason,  # type: ignore[arg-type]
            usage=Usage(uncached_input=len(asked_of.prompt_ids), output=7),
            prefill_us=0,
            decode_us=0,
        ),
    ]
    log.append(request.pk, [numbered(event, asked_of.generation) for event in events], asked_of.attempt)
    report(request.pk, None, asked_of.attempt)


def run_queued(client: redis.Redis) -> None:
    found = body(client, "tools")
    client.delete("tools")
    run_calls(*found)


def events_of(request: Request) -> list[AnyEvent]:
    return [event for frame in services.event_log().read(request.pk) for event in frame.events]


def test_a_call_is_run_and_the_model_asked_again(calling: Request, redis_client: redis.Redis) -> None:
    first = generated(redis_client)
    answered(calling, redis_client, "I compute. " + CALL)
    run_queued(redis_client)
    events, second = events_of(calling), generated(redis_client)
    (called,) = [event for event in events if isinstance(event, ToolCalled)]
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert (called.name, called.source, called.generation) == ("calculator", "builtin", 0)
    assert (finished.call_id, finished.result, finished.is_error) == (called.call_id, "391", False)
    assert second.generation == 1
    assert first.params.tool_calls is not None and second.params.tool_calls is not None
    assert (first.params.tool_calls.is_required, second.params.tool_calls.is_required) == (True, False)
    assert (first.params.max_tokens, second.params.max_tokens) == (50, 43)
    answered(calling, redis_client, "It is 391.")
    calling.refresh_from_db()
    assert (calling.status, calling.finish_reason) == ("done", "stop")
    assert calling.output_text == f"I compute. {CALL}It is 391."
    call = {"name": "calculator", "arguments": '{"expression": "17 * 23"}', "result": "391", "is_error": False}
    assert calling.rounds == [{"text": f"I compute. {CALL}", "calls": [call]}]
    assert calling.usage is not None and calling.usage["output"] == 14


def test_the_next_prompt_repeats_the_last_one_and_its_answer_token_by_token(
    calling: Request, redis_client: redis.Redis
) -> None:
    answered(calling, redis_client, CALL)
    run_queued(redis_client)
    events = events_of(calling)
    first, second = [event for event in events if isinstance(event, PromptTokenized)]
    sampled = [event.id for event in events if isinstance(event, TokenSampled)]
    assert second.ids[: len(first.ids) + len(sampled)] == (*first.ids, *sampled)
    context = [event for event in events if isinstance(event, ContextAssembled)][-1]
    ends = [0, *(segment.end for segment in context.segments)]
    assert [segment.start for segment in context.segments] == ends[:-1] and ends[-1] == len(second.ids)
    tokenizer = services.prompt_services(calling.model).tokenizer
    result = next(segment for segment in context.segments if segment.kind == "result")
    told = b"".join(tokenizer.piece(each) for each in second.ids[result.start : result.end]).decode()
    assert told == result.text == "<tool_response>\n391\n</tool_response>"
    assert all(tokenizer.is_special(second.ids[place]) for place in second.special)


def test_several_calls_give_their_results_in_order(calling: Request, redis_client: redis.Redis) -> None:
    clock = written("current_time", '{"zone": "UTC"}')
    wrong = written("calculator", '{"expression": "1/0"}')
    answered(calling, redis_client, CALL + clock + wrong)
    run_queued(redis_client)
    events = events_of(calling)
    context = [event for event in events if isinstance(event, ContextAssembled)][-1]
    results = [segment.text for segment in context.segments if segment.kind == "result"]
    assert len(results) == 3 and "391" in results[0] and "+00:00" in results[1] and "zero" in results[2]
    assert [event.is_error for event in events if isinstance(event, ToolFinished)].count(True) == 1


def test_a_lost_run_of_calls_is_made_again_and_a_late_one_writes_nothing(
    calling: Request, redis_client: redis.Redis
) -> None:
    answered(calling, redis_client, CALL)
    lost = body(redis_client, "tools")
    redis_client.delete("tools")
    advance(calling.pk)
    run_queued(redis_client)
    before = events_of(calling)
    run_calls(*lost)
    assert events_of(calling) == before
    assert [type(event) for event in before].count(ToolFinished) == 1
    assert generated(redis_client).generation == 1


@pytest.mark.database
def test_a_second_delivery_of_the_calls_does_nothing(calling: Request, redis_client: redis.Redis) -> None:
    answered(calling, redis_client, CALL)
    found = body(redis_client, "tools")
    run_queued(redis_client)
    before = events_of(calling)
    run_calls(*found)
    assert events_of(calling) == before


@pytest.mark.database
def test_a_run_that_died_after_a_result_keeps_it(calling: Request, redis_client: redis.Redis) -> None:
    answered(calling, redis_client, CALL + written("current_time", '{"zone": "UTC"}'))
    redis_client.delete("tools")
    calling.refresh_from_db()
    finished = ToolFinished(at=10, call_id="call_0_0", result="as it was", duration_us=1)
    called = ToolCalled(at=10, call_id="call_0_0", name="calculator", arguments="{}", source="builtin")
    services.event_log().append(calling.pk, [called, finished], calling.attempt)
    advance(calling.pk)
    run_queued(redis_client)
    events = events_of(calling)
    assert [event.call_id for event in events if isinstance(event, ToolFinished)] == ["call_0_0", "call_0_1"]
    assert [event.call_id for event in events if isinstance(event, ToolCalled)] == ["call_0_0", "call_0_1"]


def test_a_lost_step_after_the_results_is_made_again(calling: Request, redis_client: redis.Redis) -> None:
    answered(calling, redis_client, CALL)
    run_queued(redis_client)
    redis_client.delete(GENERATE)
    advance(calling.pk)
    second = generated(redis_client)
    assert second.generation == 1
    assert [type(event) for event in events_of(calling)].count(PromptTokenized) == 2


def test_a_stop_between_two_generations_is_billed_and_called_stopped(
    calling: Request, redis_client: redis.Redis
) -> None:
    answered(calling, redis_client, CALL)
    found = body(redis_client, "tools")
    calling.refresh_from_db()
    assert is_pausing(events_of(calling))
    assert stop(calling)
    run_calls(*found)
    calling.refresh_from_db()
    events = events_of(calling)
    assert (calling.status, calling.finish_reason) == ("stopped", "abort")
    assert calling.usage is not None and calling.usage["output"] == 7
    assert [type(event) for event in events[-3:]].count(RequestCancelled) <= 1
    assert isinstance(events[-1], RequestFinished) and not any(isinstance(event, ToolCalled) for event in events)


def billed(request: Request) -> tuple[int, int]:
    """The tokens written, by the ledger and by the record of use."""
    entry, record = LedgerEntry.objects.get(request_id=request.pk), UsageRecord.objects.get(request_id=request.pk)
    return entry.output, record.output


def test_a_stop_while_the_next_generation_waits_pays_for_those_that_ended(
    calling: Request, redis_client: redis.Redis
) -> None:
    answered(calling, redis_client, CALL)
    run_queued(redis_client)
    calling.refresh_from_db()
    assert stop(calling)
    calling.refresh_from_db()
    assert calling.status == "stopped" and billed(calling) == (7, 7)


def test_a_result_that_does_not_fit_pays_for_the_generation_that_ended(
    calling: Request, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(calling, redis_client, CALL)
    found = services.prompt_services(calling.model)
    small = dataclasses.replace(found, assembler=Assembler(found.template, found.tokenizer, window=60))
    monkeypatch.setattr("webapp.lifecycle.tool_calls.served", lambda _model: small)
    run_queued(redis_client)
    calling.refresh_from_db()
    record = UsageRecord.objects.get(request_id=calling.pk)
    assert (calling.status, calling.error_code) == ("failed", "prompt_too_long")
    assert billed(calling) == (7, 7) and record.status == "failed"


def test_a_late_report_of_a_generation_takes_nothing_from_the_next_ones_worker(
    calling: Request, redis_client: redis.Redis
) -> None:
    first = generated(redis_client)
    answered(calling, redis_client, CALL)
    run_queued(redis_client)
    second = generated(redis_client)
    assert services.event_log().claim(calling.pk, second.attempt)
    before = events_of(calling)
    report(calling.pk, None, first.attempt)
    assert events_of(calling) == before


def test_calls_that_wait_in_their_queue_keep_their_attempt(calling: Request, redis_client: redis.Redis) -> None:
    answered(calling, redis_client, CALL)
    message = body(redis_client, "tools")
    for _ in range(3):  # their lease ends before a process is free
        advance(calling.pk)
    assert redis_client.llen("tools") == 1
    run_calls(*message)
    assert [type(event) for event in events_of(calling)].count(ToolFinished) == 1


def test_a_stop_follows_a_request_to_its_next_attempt(calling: Request, redis_client: redis.Redis) -> None:
    stale = Request.objects.get(pk=calling.pk)
    answered(calling, redis_client, CALL)
    assert stop(stale)
    stale.refresh_from_db()
    assert stale.status == "stopped"
    run_queued(redis_client)
    assert not any(isinstance(event, ToolCalled) for event in events_of(calling))


def test_silence_between_two_generations_is_told_as_such(calling: Request, redis_client: redis.Redis) -> None:
    answered(calling, redis_client, CALL)
    redis_client.delete("tools")
    environment, now = settings.ENVIRONMENT, [0.0]
    watch = Watch(lambda: now[0])
    for now[0] in (0.0, environment.queue_timeout_s + environment.stall_timeout_s + 1):
        watch.attend(calling)
    calling.refresh_from_db()
    assert (calling.error_code, calling.finish_reason) == ("no_worker", "")
    assert "tools" in calling.error_message


@pytest.mark.parametrize(
    ("text", "reason"),
    [(CALL, "length"), (CALL[:-5], "stop"), (written("of_the_client", "{}"), "stop"), ("391", "stop"), (CALL, "abort")],
)
def test_an_answer_without_a_whole_call_of_ours_is_over(
    calling: Request, redis_client: redis.Redis, text: str, reason: str
) -> None:
    answered(calling, redis_client, text, reason)
    calling.refresh_from_db()
    assert calling.is_settled and redis_client.llen("tools") == 0 and calling.rounds is None


def test_the_last_round_is_offered_no_tool(calling: Request, redis_client: redis.Redis) -> None:
    for number in range(MAX_ROUNDS - 1):
        assert generated(redis_client).generation == number
        answered(calling, redis_client, CALL)
        run_queued(redis_client)
    last = generated(redis_client)
    assert (last.generation, last.params.tool_calls) == (MAX_ROUNDS - 1, None)
    answered(calling, redis_client, CALL)
    calling.refresh_from_db()
    assert calling.status == "done" and last_number(events_of(calling)) == MAX_ROUNDS - 1


def test_a_request_without_tools_of_the_server_settles_with_a_call(calling: Request, redis_client: redis.Redis) -> None:
    events = events_of(calling)
    accepted = next(event for event in events if isinstance(event, RequestAccepted))
    bare = [msgspec.structs.replace(accepted, features=()), *events[1:]]
    finished = GenerationFinished(at=9, finish_reason="stop", usage=Usage(), prefill_us=0, decode_us=0)
    assert next_step([*bare, TextReleased(at=9, text=CALL, num_tokens=1), finished]) == "settle"
    assert next_step([*events, TextReleased(at=9, text=CALL, num_tokens=1), finished]) == "call"


class Passes(list[AnyEvent]):
    """Events that count how often they are gone through."""

    num = 0

    def __iter__(self) -> Iterator[AnyEvent]:
        self.num += 1
        return super().__iter__()


def many_rounds(num_rounds: int) -> Passes:
    accepted = RequestAccepted(
        at=0, request_id="r", surface="chat", model="m", params=PARAMS, accepted_unix_us=1, features=flags_of(NAMES)
    )
    texts = [TextReleased(at=1, text=CALL, num_tokens=1, generation=number) for number in range(num_rounds + 1)]
    results = [
        ToolFinished(at=1, call_id=f"call_{number}_0", result=str(number), duration_us=1)
        for number in range(num_rounds)
    ]
    return Passes([accepted, *texts, *results])


def test_many_rounds_are_read_in_as_many_passes_as_few() -> None:
    few, many = many_rounds(2), many_rounds(300)
    assert [each["calls"][0]["result"] for each in rounds_of(many) or []] == [str(number) for number in range(300)]
    rounds_of(few)
    assert many.num == few.num


def test_a_request_without_tools_has_no_rounds() -> None:
    accepted, *rest = many_rounds(3)
    assert rounds_of([msgspec.structs.replace(accepted, features=()), *rest]) is None
