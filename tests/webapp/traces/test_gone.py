"""Deleted data is gone: from the log, from sets of runs, from conversations, and from the database's file."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.db import connection, transaction

from inference.eventlog.keys import commands_key, log_key, meta_key
from inference.protocol.events import TextReleased
from inference.protocol.request import StepCommand
from tests.webapp.inputs import SAVED
from tests.webapp.traces.library.test_filters import saved, signed_in
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Conversation, Message
from webapp.surfaces.runs.models import Rerun, Run
from webapp.traces import store
from webapp.traces.models import Trace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user() -> User:
    return User.objects.create_user("alice")


def in_conversation(user: User, *request_ids: str) -> Conversation:
    conversation = Conversation.objects.create(user=user, model="m")
    for request_id in request_ids:
        Message.objects.create(conversation=conversation, role="assistant", request_id=request_id)
    return conversation


def set_of(user: User, num_runs: int, **more: Any) -> Rerun:
    rerun = Rerun.objects.create(
        user=user, title="T", model="m", input=SAVED, params={}, seeds="same", n=1, prompt_check={}, **more
    )
    Run.objects.bulk_create(Run(rerun=rerun, index=index, params={}) for index in range(num_runs))
    return rerun


@pytest.mark.parametrize("is_in_conversation", [False, True])
def test_the_log_goes_with_the_trace_and_its_numbers_stay(
    user: User, redis_client: redis.Redis, is_in_conversation: bool
) -> None:
    request_id, log = saved(user), services.event_log()
    if is_in_conversation:
        in_conversation(user, request_id)
    log.append(request_id, [TextReleased(at=1, text="secret", num_tokens=1)], 1)
    log.command(request_id, StepCommand(position=0))
    assert signed_in(user).delete(f"/api/requests/{request_id}").status_code == 204
    assert not redis_client.exists(log_key(request_id), commands_key(request_id))
    assert redis_client.exists(meta_key(request_id))
    assert log.last_seq(request_id) == 1


def test_a_trace_is_deleted_also_while_there_is_no_log_to_reach(
    user: User, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise redis.ConnectionError

    monkeypatch.setattr(services.event_log(), "forget", refuse, raising=True)
    store.delete(Request.objects.get(pk=saved(user)))
    assert not Trace.objects.exists()


def test_a_set_of_runs_goes_with_its_last_run(user: User, redis_client: redis.Redis) -> None:
    """It has the prompt, and would still tell it by its title."""
    first, second = set_of(user, 2).runs.all()
    for run in (first, second):
        Run.objects.filter(pk=run.pk).update(request=saved(user))
    alice = signed_in(user)
    ids = list(Request.objects.values_list("pk", flat=True))
    alice.delete(f"/api/requests/{ids[0]}")
    assert (Rerun.objects.count(), Run.objects.count()) == (1, 1)
    alice.delete(f"/api/requests/{ids[1]}")
    assert not Rerun.objects.exists()


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time")
def test_a_set_goes_also_when_its_last_two_runs_go_at_once(user: User, redis_client: redis.Redis) -> None:
    for run in set_of(user, 2).runs.all():
        Run.objects.filter(pk=run.pk).update(request=saved(user))
    first, second = Request.objects.all()

    def delete_second() -> None:
        store.delete(second)
        connection.close()

    other = threading.Thread(target=delete_second)
    with transaction.atomic():
        store.delete(first)
        other.start()
        other.join(0.5)  # it waits for this transaction, or would be done long before
    other.join(10)
    assert not Request.objects.exists() and not Rerun.objects.exists()


def test_a_set_whose_other_runs_wait_stays(user: User, redis_client: redis.Redis) -> None:
    rerun = set_of(user, 2)
    Run.objects.filter(index=0).update(request=saved(user))
    signed_in(user).delete(f"/api/requests/{Request.objects.get().pk}")
    assert rerun.runs.count() == 1


def test_an_answer_without_a_trace_goes_with_its_conversation_and_one_with_it_stays(
    user: User, redis_client: redis.Redis
) -> None:
    untraced, traced, elsewhere = (saved(user, output_text="An answer") for _ in range(3))
    conversation = in_conversation(user, untraced, traced)
    in_conversation(user, elsewhere)
    Trace.objects.exclude(pk=traced).delete()
    assert signed_in(user).delete(f"/api/conversations/{conversation.pk}").status_code == 204
    assert set(Request.objects.values_list("pk", flat=True)) == {traced, elsewhere}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL clears rows in its own time")
def test_the_databases_file_is_cleared_of_deleted_rows() -> None:
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA secure_delete").fetchone() == (1,)
