"""A re-run of a request with tools calls them again. A set of several runs cannot ask, and declines what must be."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.test import Client

from inference.eventlog.keys import worker_key
from inference.protocol.events import RequestAccepted, ToolApprovalAsked, ToolCalled, ToolFinished
from inference.tokenization.tokenizer import Tokenizer
from tests.webapp.surfaces.chat.test_forks import events_of, only, post, sign_in
from tests.webapp.surfaces.chat.test_forks_with_tools import CALL, OTHER_CALL, RENAME, Work, asked, forked
from webapp.lifecycle.tasks import prepare
from webapp.requests.models import Request
from webapp.surfaces.runs.advance import advance

pytestmark = pytest.mark.django_db(transaction=True)

READY = {"state": "ready", "model": "smollm2-135m-instruct", "num_places": "192"}


@pytest.fixture
def alice(redis_client: redis.Redis) -> Client:
    redis_client.hset(worker_key("test:1"), mapping=READY)
    return sign_in("alice")


@pytest.fixture
def work(redis_client: redis.Redis, tokenizer: Tokenizer) -> Work:
    return Work(redis_client, tokenizer)


def first_run(client: Client, original: Request, **plan: Any) -> Request:
    """The first run of a set, prepared; the others begin later."""
    status, made = post(client, f"/api/requests/{original.pk}/reruns", plan)
    assert status == 201, made
    advance([made["id"]])
    run = Request.objects.filter(run__rerun_id=made["id"]).order_by("run__index")[0]
    prepare(run.pk)
    return run


def test_a_rerun_calls_the_tools_again(alice: Client, work: Work) -> None:
    original = asked(alice, "calculator")
    work.answer(original, CALL)
    work.call()
    work.answer(original, "391.")
    run = first_run(alice, original)
    work.answer(run, OTHER_CALL)
    work.call()
    assert only(events_of(run.pk), ToolFinished).result == "2"
    work.answer(run, "2.")
    run.refresh_from_db()
    assert (run.status, run.output_text) == ("done", f"{OTHER_CALL}2.")


def test_one_run_asks_its_user_about_a_call_that_changes_something(alice: Client, work: Work) -> None:
    run = first_run(alice, renaming(alice, work))
    work.answer(run, RENAME)
    work.call()
    assert only(events_of(run.pk), ToolApprovalAsked).name == "rename_conversation"
    assert not any(isinstance(each, ToolCalled) for each in events_of(run.pk))


def test_a_set_of_runs_declines_such_a_call_and_says_why(alice: Client, work: Work) -> None:
    run = first_run(alice, renaming(alice, work), n=2, seeds="fresh")
    work.answer(run, RENAME)
    work.call()
    finished = only(events_of(run.pk), ToolFinished)
    assert finished.is_error and "a set of several runs cannot ask" in finished.result
    assert only(events_of(run.pk), ToolCalled).name == "rename_conversation"
    assert not any(isinstance(each, ToolApprovalAsked) for each in events_of(run.pk))
    assert work.queued().generation == 1


def renaming(client: Client, work: Work) -> Request:
    """A settled request that might have renamed its chat."""
    original = asked(client, "rename_conversation")
    work.answer(original, "No.")
    return original


def test_a_rerun_of_a_fork_has_its_rounds_and_its_tools(alice: Client, work: Work) -> None:
    parent = asked(alice, "calculator")
    work.answer(parent, CALL)
    work.call()
    work.answer(parent, "It is 391.")
    fork = forked(alice, parent, position=2)
    work.answer(fork, " 391.")
    run = first_run(alice, fork)
    work.answer(run, OTHER_CALL)
    work.call()
    assert only(events_of(run.pk), ToolCalled).call_id == "call_1_0"
    assert only(events_of(run.pk), RequestAccepted).features == ("tool:calculator",)


def test_a_rerun_of_a_fork_needs_room_beyond_its_kept_rounds(alice: Client, work: Work) -> None:
    parent = asked(alice, "calculator")
    spent = len(work.answer(parent, CALL))
    work.call()
    work.answer(parent, "It is 391.")
    fork = forked(alice, parent, position=2)
    work.answer(fork, " 391.")
    status, refused = post(alice, f"/api/requests/{fork.pk}/reruns", {"grid": {"max_tokens": [spent + 2]}})
    assert (status, refused["error"]["field"]) == (400, "grid.max_tokens")


def test_a_rerun_of_an_imported_trace_calls_no_tool(alice: Client, work: Work) -> None:
    original = asked(alice, "calculator")
    work.answer(original, "No.")
    Request.objects.filter(pk=original.pk).update(is_imported=True)
    run = first_run(alice, original)
    work.answer(run, CALL)
    run.refresh_from_db()
    assert run.status == "done" and only(events_of(run.pk), RequestAccepted).features == ()
