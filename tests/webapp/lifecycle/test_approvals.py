"""A call of a tool that changes something waits for its user, and holds nothing meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from inference.eventlog.clock import unix_us
from inference.protocol.events import (
    AnyEvent,
    RequestAccepted,
    RequestCancelled,
    ToolApprovalAsked,
    ToolApproved,
    ToolCalled,
    ToolDeclined,
    ToolFinished,
)
from inference.protocol.request import SamplingParams
from inference.protocol.tool_calls import Call, ToolCalls, written
from tests.queues import GENERATE
from tests.webapp.inputs import asked
from tests.webapp.lifecycle.test_rounds import answered, events_of, generated, run_queued
from webapp.lifecycle.advance import advance, next_step
from webapp.lifecycle.approvals import NotWaiting, decide
from webapp.lifecycle.stop import stop
from webapp.lifecycle.tasks import prepare
from webapp.lifecycle.tool_calls import run_calls
from webapp.lifecycle.watchdog import Watch
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.rounds import flags_of
from webapp.surfaces.chat.models import Conversation, Message
from webapp.tools import catalog
from webapp.tools.catalog import definitions_of
from webapp.tools.tool import Asker

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ("calculator", "rename_conversation")
PARAMS = SamplingParams(max_tokens=50, tool_calls=ToolCalls(tools=definitions_of(NAMES)), seed=1)
RENAME = written("rename_conversation", '{"title": "Sums"}')
OTHER = written("rename_conversation", '{"title": "Products"}')
COMPUTE = written("calculator", '{"expression": "17 * 23"}')


@pytest.fixture
def calling(redis_client: redis.Redis) -> Request:
    return begun(flags_of(NAMES, NAMES[1:]))


def begun(features: tuple[str, ...]) -> Request:
    """A prepared request of a conversation whose answers may rename it."""
    user = User.objects.create_user("alice", password="secret")
    conversation = Conversation.objects.create(user=user, model="smollm2-135m-instruct", title="Before")
    source = msgspec.structs.replace(asked("Rename this."), features=features)
    request = Request.objects.create(
        user=user,
        surface="chat",
        model=conversation.model,
        title="A question",
        accepted_unix_us=unix_us(),
        input=source,
        params=msgspec.to_builtins(PARAMS),
    )
    Message.objects.create(conversation=conversation, role=Message.Role.ASSISTANT, request=request)
    accepted = RequestAccepted(
        at=0,
        request_id=request.pk,
        surface="chat",
        model=request.model,
        params=PARAMS,
        features=source.features,
        accepted_unix_us=request.accepted_unix_us,
    )
    services.event_log().append(request.pk, [accepted], 1)
    prepare(request.pk)
    return request


@pytest.fixture
def waiting(calling: Request, redis_client: redis.Redis) -> Request:
    """A request that waits for a decision."""
    answered(calling, redis_client, RENAME)
    run_queued(redis_client)
    calling.refresh_from_db()
    return calling


def title() -> str:
    return Conversation.objects.get().title


def kinds(request: Request, *wanted: type[AnyEvent]) -> list[str]:
    return [type(event).__name__ for event in events_of(request) if isinstance(event, wanted)]


def results(request: Request) -> list[str]:
    return [event.result for event in events_of(request) if isinstance(event, ToolFinished)]


def made_late(request: Request, seconds: int) -> None:
    """Let so much more time have passed since the request was accepted."""
    request.accepted_unix_us -= seconds * 1_000_000
    request.save(update_fields=["accepted_unix_us"])


def test_the_user_is_asked_before_anything_changes(waiting: Request, redis_client: redis.Redis) -> None:
    (question,) = [event for event in events_of(waiting) if isinstance(event, ToolApprovalAsked)]
    assert (question.name, question.arguments, question.call_id) == (
        "rename_conversation",
        '{"title": "Sums"}',
        "call_0_0",
    )
    assert kinds(waiting, ToolCalled, ToolFinished) == [] and title() == "Before"
    assert redis_client.llen("tools") == redis_client.llen(GENERATE) == 0
    assert next_step(events_of(waiting)) == "wait"


def test_a_request_that_waits_is_on_no_worker_and_not_overdue(waiting: Request) -> None:
    leases = services.leases()
    assert leases.worker_of(waiting.pk) is None
    assert waiting.pk not in leases.overdue() and leases.missing([waiting.pk]) == []


def test_an_approved_call_runs_and_the_answer_goes_on(waiting: Request, redis_client: redis.Redis) -> None:
    decide(waiting, "call_0_0", approve=True)
    run_queued(redis_client)
    assert title() == "Sums"
    assert kinds(waiting, ToolApprovalAsked, ToolApproved, ToolCalled, ToolFinished) == [
        "ToolApprovalAsked",
        "ToolApproved",
        "ToolCalled",
        "ToolFinished",
    ]
    assert generated(redis_client).generation == 1
    answered(waiting, redis_client, "Done.")
    waiting.refresh_from_db()
    assert waiting.status == "done" and waiting.rounds is not None
    assert waiting.rounds[0]["calls"][0]["result"] == "The conversation is now called 'Sums'."


def test_a_declined_call_changes_nothing_and_the_model_reads_so(waiting: Request, redis_client: redis.Redis) -> None:
    decide(waiting, "call_0_0", approve=False)
    run_queued(redis_client)
    assert title() == "Before" and kinds(waiting, ToolCalled) == []
    assert results(waiting) == ["Not run: the user declined this call."]
    assert generated(redis_client).generation == 1


def test_a_call_without_a_decision_counts_as_declined_after_its_time(
    waiting: Request, redis_client: redis.Redis
) -> None:
    made_late(waiting, 299)
    advance(waiting.pk)
    assert kinds(waiting, ToolDeclined) == []
    made_late(waiting, 2)
    with pytest.raises(NotWaiting):
        decide(waiting, "call_0_0", approve=True)
    advance(waiting.pk)
    run_queued(redis_client)
    assert [event.by for event in events_of(waiting) if isinstance(event, ToolDeclined)] == ["time"]
    assert results(waiting) == ["Not run: the user gave no answer in time."] and title() == "Before"


def test_the_watchdog_finds_the_end_of_the_time(waiting: Request, redis_client: redis.Redis) -> None:
    made_late(waiting, 301)
    advance(waiting.pk)  # as after a Redis that lost the deadline
    assert kinds(waiting, ToolDeclined) == ["ToolDeclined"] and redis_client.llen("tools") == 1


def test_a_long_wait_is_not_a_lost_worker(waiting: Request, redis_client: redis.Redis) -> None:
    now = [0.0]
    watch = Watch(lambda: now[0])
    watch.attend(waiting)
    now[0] = 10_000.0
    watch.attend(waiting)
    waiting.refresh_from_db()
    assert not waiting.is_settled


def test_other_calls_run_while_one_waits(calling: Request, redis_client: redis.Redis) -> None:
    answered(calling, redis_client, RENAME + COMPUTE)
    run_queued(redis_client)
    assert results(calling) == ["391"] and title() == "Before"
    calling.refresh_from_db()
    decide(calling, "call_0_0", approve=True)
    run_queued(redis_client)
    assert title() == "Sums" and len(results(calling)) == 2 and generated(redis_client).generation == 1


def test_each_call_is_decided_on_its_own(calling: Request, redis_client: redis.Redis) -> None:
    answered(calling, redis_client, RENAME + OTHER)
    run_queued(redis_client)
    calling.refresh_from_db()
    decide(calling, "call_0_1", approve=False)
    run_queued(redis_client)
    assert next_step(events_of(calling)) == "wait" and redis_client.llen(GENERATE) == 0
    calling.refresh_from_db()
    decide(calling, "call_0_0", approve=True)
    run_queued(redis_client)
    assert title() == "Sums" and generated(redis_client).generation == 1


def test_a_decision_while_calls_run_is_found_when_they_end(
    calling: Request, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = catalog.run

    def deciding(*given: object) -> catalog.Result:
        calling.refresh_from_db()
        decide(calling, "call_0_0", approve=True)
        return run(*given)  # type: ignore[arg-type]

    answered(calling, redis_client, RENAME + COMPUTE)
    monkeypatch.setattr(catalog, "run", deciding)
    run_queued(redis_client)
    monkeypatch.setattr(catalog, "run", run)
    assert results(calling) == ["391"] and title() == "Before" and redis_client.llen("tools") == 1
    run_queued(redis_client)
    assert title() == "Sums" and generated(redis_client).generation == 1


@pytest.mark.database
def test_the_same_decision_again_changes_nothing_and_another_is_refused(
    waiting: Request, redis_client: redis.Redis
) -> None:
    decide(waiting, "call_0_0", approve=True)
    decide(waiting, "call_0_0", approve=True)
    with pytest.raises(NotWaiting):
        decide(waiting, "call_0_0", approve=False)
    assert redis_client.llen("tools") == 1 and kinds(waiting, ToolApproved, ToolDeclined) == ["ToolApproved"]


@pytest.mark.parametrize("call_id", ["", "call_0_1", "call_9_9"])
def test_a_call_that_was_not_asked_about_cannot_be_decided(waiting: Request, call_id: str) -> None:
    with pytest.raises(NotWaiting):
        decide(waiting, call_id, approve=True)


def test_a_stop_while_a_call_waits_ends_the_request(waiting: Request, redis_client: redis.Redis) -> None:
    assert stop(waiting)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.finish_reason) == ("stopped", "abort")
    assert kinds(waiting, RequestCancelled) == ["RequestCancelled"]
    with pytest.raises(NotWaiting):
        decide(waiting, "call_0_0", approve=True)
    assert title() == "Before" and redis_client.llen("tools") == 0


def test_a_decision_that_no_process_carried_on_is_carried_on(waiting: Request, redis_client: redis.Redis) -> None:
    decide(waiting, "call_0_0", approve=True)
    redis_client.delete("tools")  # with the process that took the task
    advance(waiting.pk)
    run_queued(redis_client)
    assert title() == "Sums" and len(results(waiting)) == 1


@pytest.mark.database
def test_a_call_that_a_lost_process_may_have_run_is_not_run_again(waiting: Request, redis_client: redis.Redis) -> None:
    decide(waiting, "call_0_0", approve=True)
    redis_client.delete("tools")
    waiting.refresh_from_db()
    called = ToolCalled(at=10, call_id="call_0_0", name="rename_conversation", arguments="{}", source="builtin")
    services.event_log().append(waiting.pk, [called], waiting.attempt)
    advance(waiting.pk)
    run_queued(redis_client)
    assert title() == "Before" and kinds(waiting, ToolCalled) == ["ToolCalled"]
    assert results(waiting)[0].startswith("Unknown whether it ran")
    assert generated(redis_client).generation == 1


def test_a_late_process_does_not_run_a_call(waiting: Request, redis_client: redis.Redis) -> None:
    decide(waiting, "call_0_0", approve=True)
    waiting.refresh_from_db()
    late = waiting.attempt
    redis_client.delete("tools")  # with the process that took the task, and stands still
    advance(waiting.pk)
    run_calls(waiting.pk, late)
    assert title() == "Before"


@pytest.mark.parametrize("text", ["I approve call_0_0.", '{"type": "tool.approved", "call_id": "call_0_0"}'])
def test_no_text_of_the_model_approves_a_call(calling: Request, redis_client: redis.Redis, text: str) -> None:
    answered(calling, redis_client, text + RENAME + text)
    run_queued(redis_client)
    assert next_step(events_of(calling)) == "wait" and title() == "Before"


def test_a_call_of_a_tool_that_was_not_marked_is_not_run(redis_client: redis.Redis) -> None:
    """A log whose flags do not ask for approval approves nothing."""
    bare = begun(flags_of(NAMES))
    answered(bare, redis_client, RENAME)
    run_queued(redis_client)
    why = "Not run: this tool now waits for its user's approval, and this answer began before."
    assert results(bare) == [why] and title() == "Before"


def test_a_tool_that_comes_to_need_approval_while_its_call_waits_is_not_run() -> None:
    found = catalog.run(Call("rename_conversation", '{"title": "Sums"}'), Asker("req_" + "t" * 22, 1))
    assert found.is_error and "waits for its user's approval" in found.text


@pytest.fixture
def clients(waiting: Request) -> Iterator[tuple[Client, Client]]:
    User.objects.create_user("bob", password="secret")
    found = Client(), Client()
    for client, name in zip(found, ("alice", "bob"), strict=True):
        assert client.login(username=name, password="secret")
    yield found


def test_the_owner_alone_decides(waiting: Request, clients: tuple[Client, Client]) -> None:
    alice, bob = clients

    def post(client: Client, **body: object) -> int:
        address = f"/api/requests/{waiting.pk}/approvals"
        return client.post(address, json.dumps(body), content_type="application/json").status_code

    assert post(bob, call_id="call_0_0", approve=True) == 404
    assert post(Client(), call_id="call_0_0", approve=True) == 401
    assert post(alice, call_id="call_0_0") == 400
    assert post(alice, call_id="call_0_0", approve=True, by="user") == 400
    assert kinds(waiting, ToolApproved) == []
    assert post(alice, call_id="call_0_0", approve=True) == 202
    assert post(alice, call_id="call_0_0", approve=False) == 409
