"""A call may start an agent: a request of its own, whose answer is the call's result."""

from __future__ import annotations

from threading import Event
from typing import Any

import msgspec
import pytest
import redis
from django.db import IntegrityError
from django.test import Client

from inference.protocol.events import (
    AgentFinished,
    AgentStarted,
    AnyEvent,
    RequestAccepted,
    RequestCancelled,
    RequestFinished,
    ToolFinished,
)
from inference.protocol.request import SamplingParams
from inference.protocol.tool_calls import Call, ToolCalls, written
from tests.queues import GENERATE
from tests.webapp.lifecycle.test_approvals import begun
from tests.webapp.lifecycle.test_rounds import answered, events_of, generated, run_queued
from webapp.lifecycle import agents, tool_calls
from webapp.lifecycle.advance import advance, agent_ended, next_step
from webapp.lifecycle.stop import stop, stop_agents
from webapp.lifecycle.tasks import prepare
from webapp.lifecycle.watchdog import Watch
from webapp.models.billing.models import LedgerEntry
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.rounds import flags_of, tools_of
from webapp.surfaces.chat.models import Message
from webapp.tools import catalog
from webapp.tools.catalog import definitions_of
from webapp.tools.tool import Asker
from webapp.traces import store
from webapp.usage.limits.models import Rule

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ("calculator", "rename_conversation", "delegate")
PARAMS = SamplingParams(max_tokens=50, tool_calls=ToolCalls(tools=definitions_of(NAMES), is_required=True), seed=1)
SUM = written("delegate", '{"task": "Add 2 and 3."}')
PRODUCT = written("delegate", '{"task": "Multiply 2 by 3."}')


@pytest.fixture
def parent(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> Request:
    """A prepared request that may delegate."""
    monkeypatch.setattr("tests.webapp.lifecycle.test_approvals.PARAMS", PARAMS)
    return begun(flags_of(NAMES, ["rename_conversation"]))


@pytest.fixture
def delegating(parent: Request, redis_client: redis.Redis) -> Request:
    """A request that waits for one agent, which is prepared."""
    answered(parent, redis_client, SUM)
    run_queued(redis_client)
    parent.refresh_from_db()
    for agent in agents_of(parent):
        prepare(agent.pk)
    return parent


def agents_of(parent: Request) -> list[Request]:
    return list(parent.agents.order_by("accepted_unix_us", "pk"))


def of_kind(request: Request, *kinds: type[AnyEvent]) -> list[AnyEvent]:
    return [event for event in events_of(request) if isinstance(event, kinds)]


def results(request: Request) -> list[tuple[str, bool]]:
    return [(event.result, event.is_error) for event in events_of(request) if isinstance(event, ToolFinished)]


def end(agent: Request, client: redis.Redis, text: str = "Five.") -> None:
    """Let a worker answer the agent's task, and tell its parent."""
    answered(agent, client, text)
    agent_ended(str(agent.agent_of_id))


def test_a_call_starts_a_request_that_reads_the_task_alone(delegating: Request) -> None:
    (agent,) = agents_of(delegating)
    told = [(each.role, each.kind, each.content) for each in agent.input.messages]
    assert told[-1] == ("user", "user", "Add 2 and 3.") and [kind for _, kind, _ in told] == ["system", "tools", "user"]
    assert (agent.user_id, agent.model, agent.surface) == (delegating.user_id, delegating.model, "agent")
    accepted = events_of(agent)[0]
    assert isinstance(accepted, RequestAccepted) and accepted.agent_of == delegating.pk


def test_an_agent_has_the_tools_that_need_no_approval_and_starts_no_agent(delegating: Request) -> None:
    (agent,) = agents_of(delegating)
    params = msgspec.convert(agent.params, SamplingParams)
    assert tools_of(agent.input.features) == {"calculator"}  # type: ignore[union-attr]
    assert params.tool_calls is not None and [each.name for each in params.tool_calls.tools] == ["calculator"]
    assert not params.tool_calls.is_required


def test_the_parent_waits_and_holds_nothing(delegating: Request, redis_client: redis.Redis) -> None:
    (started,) = of_kind(delegating, AgentStarted)
    (agent,) = agents_of(delegating)
    assert isinstance(started, AgentStarted) and started.request_id == agent.pk
    assert started.accepted_unix_us == agent.accepted_unix_us
    assert next_step(events_of(delegating)) == "wait"
    assert services.leases().worker_of(delegating.pk) is None and delegating.pk not in services.leases().overdue()


def test_the_answer_is_the_result_and_the_parent_goes_on(delegating: Request, redis_client: redis.Redis) -> None:
    (agent,) = agents_of(delegating)
    end(agent, redis_client)
    assert results(delegating) == [("Five.", False)]
    assert generated(redis_client).request_id == delegating.pk and generated(redis_client).generation == 1
    answered(delegating, redis_client, "It is five.")
    assert isinstance(events_of(delegating)[-1], RequestFinished)


def test_each_part_of_the_bill_is_in_the_ledger(delegating: Request, redis_client: redis.Redis) -> None:
    (agent,) = agents_of(delegating)
    end(agent, redis_client)
    answered(delegating, redis_client, "It is five.")
    (finished,) = of_kind(delegating, AgentFinished)
    entries = {entry.request_id: entry for entry in LedgerEntry.objects.all()}
    assert isinstance(finished, AgentFinished) and finished.status == "done" and finished.usage.output == 7
    assert finished.total_nano == entries[agent.pk].total_nano and set(entries) == {agent.pk, delegating.pk}


def test_agents_of_one_answer_work_side_by_side(parent: Request, redis_client: redis.Redis) -> None:
    answered(parent, redis_client, SUM + PRODUCT)
    run_queued(redis_client)
    first, second = agents_of(parent)
    for agent, text in ((second, "Six."), (first, "Five.")):
        prepare(agent.pk)
        end(agent, redis_client, text)
    assert results(parent) == [("Six.", False), ("Five.", False)]
    prompt = events_of(parent)[-2]
    assert generated(redis_client).request_id == parent.pk and prompt is not None


def test_an_agent_uses_its_tools_and_answers_with_its_last_words(
    delegating: Request, redis_client: redis.Redis
) -> None:
    (agent,) = agents_of(delegating)
    answered(agent, redis_client, "I compute. " + written("calculator", '{"expression": "2 + 3"}'))
    run_queued(redis_client)
    end(agent, redis_client, "It is 5.")
    assert results(delegating) == [("It is 5.", False)]


def test_a_call_starts_one_agent_whatever_dies(
    parent: Request, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends after the agent began, and before the log says so."""

    def dies(*_: object) -> None:
        raise SystemExit

    answered(parent, redis_client, SUM)
    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(tool_calls, "agent_started", dies)
        run_queued(redis_client)
    advance(parent.pk)
    run_queued(redis_client)
    assert len(agents_of(parent)) == len(of_kind(parent, AgentStarted)) == 1


def test_a_lost_message_of_the_end_costs_a_look(delegating: Request, redis_client: redis.Redis) -> None:
    (agent,) = agents_of(delegating)
    answered(agent, redis_client, "Five.")
    assert results(delegating) == []
    advance(delegating.pk)  # the watchdog does, when the lease is over
    assert results(delegating) == [("Five.", False)]


def test_the_end_is_found_where_other_calls_end_later(
    parent: Request, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent ends while another call runs: the process of that call takes both results."""
    run, tell, is_begun = catalog.run, tool_calls.agent_started, Event()

    def begins(*arguments: Any) -> AgentStarted:
        is_begun.set()
        return tell(*arguments)

    def ends_later(call: Call, asker: Asker, is_approved: bool = False) -> catalog.Result:
        assert is_begun.wait(60)
        (agent,) = agents_of(parent)
        prepare(agent.pk)
        end(agent, redis_client)
        return run(call, asker, is_approved)

    monkeypatch.setattr(tool_calls, "agent_started", begins)
    monkeypatch.setattr(catalog, "run", ends_later)
    answered(parent, redis_client, SUM + written("calculator", '{"expression": "2 * 3"}'))
    run_queued(redis_client)
    assert sorted(results(parent)) == [("6", False), ("Five.", False)]
    assert redis_client.llen("tools") == 0 and generated(redis_client).generation == 1


def test_an_agent_that_is_stopped_is_an_error_that_the_model_reads(
    delegating: Request, redis_client: redis.Redis
) -> None:
    (agent,) = agents_of(delegating)
    redis_client.delete(GENERATE)
    assert stop(agent)
    agent_ended(delegating.pk)
    assert results(delegating) == [("The agent was stopped before it had answered.", True)]


def test_the_end_of_the_parent_stops_its_agents(delegating: Request, redis_client: redis.Redis) -> None:
    (agent,) = agents_of(delegating)
    assert stop(delegating)
    assert "lifecycle.stop_agents" in str(redis_client.lrange("settle", 0, -1))
    stop_agents(delegating.pk)
    agent.refresh_from_db()
    (cancelled,) = of_kind(agent, RequestCancelled)
    assert agent.is_settled and isinstance(cancelled, RequestCancelled) and cancelled.by == "parent"


def test_a_refused_agent_is_a_result(parent: Request, redis_client: redis.Redis) -> None:
    Rule.objects.create(user=parent.user, max_open=1)
    answered(parent, redis_client, SUM)
    run_queued(redis_client)
    ((text, is_error),) = results(parent)
    assert is_error and text.startswith("The agent was not started. You have 1 requests open.")


def test_a_parent_that_waits_is_not_ended_as_silent(delegating: Request, redis_client: redis.Redis) -> None:
    now = 0.0
    watch = Watch(lambda: now)
    watch.attend(delegating)
    now = 10_000.0
    watch.attend(delegating)
    delegating.refresh_from_db()
    assert not delegating.is_settled


@pytest.mark.database
def test_the_trace_of_a_parent_is_deleted_with_those_of_its_agents(
    delegating: Request, redis_client: redis.Redis
) -> None:
    (agent,) = agents_of(delegating)
    end(agent, redis_client)
    answered(delegating, redis_client, "It is five.")
    delegating.refresh_from_db()
    store.delete(delegating)
    assert not Request.objects.filter(pk=agent.pk).exists() and not store.load_frames(agent.pk)


def test_an_open_agent_outlives_its_parents_trace(delegating: Request, redis_client: redis.Redis) -> None:
    """Its end posts its bill. The API refuses the deletion until then."""
    (agent,) = agents_of(delegating)
    redis_client.delete(GENERATE)
    assert stop(delegating)
    Message.objects.all().delete()
    client = Client()
    client.force_login(delegating.user)
    assert client.delete(f"/api/requests/{delegating.pk}").status_code == 409
    store.delete(Request.objects.get(pk=delegating.pk))
    agent.refresh_from_db()
    assert not agent.is_settled and agent.agent_of_id is None


def test_agents_of_a_parent_whose_settling_process_died_are_stopped(
    delegating: Request, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    (agent,) = agents_of(delegating)
    redis_client.delete(GENERATE)
    with monkeypatch.context() as patched:
        patched.setattr("webapp.lifecycle.settle.tell_agents", lambda _: None)
        assert stop(delegating)
    advance(delegating.pk)  # the watchdog does, as long as the lease is not ended
    agent.refresh_from_db()
    assert agent.is_settled


@pytest.mark.database
def test_a_process_that_is_late_finds_the_agent_of_the_other(
    parent: Request, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = agents.begin

    def begun_elsewhere(*arguments: Any) -> None:
        begin(*arguments)
        raise IntegrityError

    monkeypatch.setattr(agents, "begin", begun_elsewhere)
    answered(parent, redis_client, SUM)
    run_queued(redis_client)
    assert [event.request_id for event in of_kind(parent, AgentStarted)] == [agents_of(parent)[0].pk]  # type: ignore[union-attr]


def test_an_agent_has_no_tool_that_its_parent_asks_about(redis_client: redis.Redis, parent: Request) -> None:
    """Also where an operator let it run unasked since."""
    features = flags_of(NAMES, ["calculator"])
    parent.input = msgspec.structs.replace(parent.input, features=features)  # type: ignore[type-var]
    parent.save()
    answered(parent, redis_client, SUM)
    run_queued(redis_client)
    assert tools_of(agents_of(parent)[0].input.features) == frozenset()  # type: ignore[union-attr]


def test_a_task_with_half_a_character_starts_an_agent(parent: Request, redis_client: redis.Redis) -> None:
    answered(parent, redis_client, written("delegate", r'{"task": "Add \ud800\u0000."}'))
    run_queued(redis_client)
    (agent,) = agents_of(parent)
    assert agent.input.messages[-1].content == "Add ?\ufffd."


def test_a_fault_in_starting_an_agent_is_a_result(
    parent: Request, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(agents, "begin", fails)
    answered(parent, redis_client, SUM)
    run_queued(redis_client)
    assert [is_error for _, is_error in results(parent)] == [True] and agents_of(parent) == []


@pytest.mark.parametrize("arguments", ['{"task": " "}', '{"task": 3}', "[]", '{"job": "x"}'])
def test_a_call_without_a_task_starts_nothing(parent: Request, redis_client: redis.Redis, arguments: str) -> None:
    answered(parent, redis_client, written("delegate", arguments))
    run_queued(redis_client)
    assert agents_of(parent) == [] and [is_error for _, is_error in results(parent)] == [True]
