"""An erasure deletes all of a user and nothing of others, from wherever an earlier run stopped."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
import redis
import zstandard
from auditlog.models import LogEntry
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.utils import timezone

from inference.eventlog.clock import unix_us
from inference.eventlog.keys import GENERATE_QUEUES, PREFIX, log_key, probe_key, recent_workers_key
from inference.protocol.events import TextReleased
from tests.events import STARTED
from tests.webapp.operations.privacy.conftest import WORD, Held, fill, settled, signed_in
from webapp.ground.audit.listing import listing
from webapp.identity.accounts.models import Session
from webapp.identity.presets.models import Preset
from webapp.lifecycle.settle import settle
from webapp.lifecycle.tasks import prepare
from webapp.models.billing.models import LedgerEntry
from webapp.operations.privacy.erase import LATE, advance, unfinished
from webapp.operations.privacy.holdings import holdings
from webapp.operations.privacy.models import Erasure
from webapp.operations.privacy.tasks import CLAIM_S, advance_all
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Conversation
from webapp.surfaces.runs.models import Rerun, Run
from webapp.traces.models import Trace
from webapp.usage.alerts.models import AlertRule, Delivery
from webapp.usage.models import UsageRecord, UsageSum, UserSum

pytestmark = pytest.mark.django_db(transaction=True)


def ask(client: Client, user: User, name: str | None = None) -> Any:
    body = {"name": user.username if name is None else name}
    return client.post(f"/api/users/{user.pk}/erasure", body, content_type="application/json")


def finish(user: User) -> Erasure:
    """Advance as the lifecycle worker does, until the last search."""
    now = timezone.now()
    for passed in (timedelta(), LATE, LATE + LATE):
        advance(user.pk, now + passed)
    return Erasure.objects.get(pk=user.pk)


def texts_of(value: Any) -> Iterator[str]:
    """The value as the search reads it: blobs are unpacked."""
    if isinstance(value, (bytes, memoryview)):
        content = bytes(value)
        for start in (0, 40):
            with suppress(zstandard.ZstdError):
                content += zstandard.ZstdDecompressor().stream_reader(content[start:]).read(1 << 25)
        yield content.decode("latin-1")
    else:
        yield str(value)


def places_of(word: str) -> set[str]:
    """The tables that have the word in any column."""
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            for row in cursor.fetchall():
                if any(word in text.lower() for value in row for text in texts_of(value)):
                    found.add(table)
    return found


def rows_of(user: User) -> dict[str, int]:
    return {each.label: each.rows(user.pk).count() for each in holdings()}


def numbers() -> list[list[dict[str, Any]]]:
    """The rows of bills and use, without the keys, which are the user's."""
    tables = UsageSum, UserSum, LedgerEntry, UsageRecord
    rows = [list(table.objects.order_by("pk").values()) for table in tables]
    return [[{name: value for name, value in row.items() if name != "key_id"} for row in each] for each in rows]


def test_every_table_with_rows_of_users_is_known() -> None:
    """A new table is the user's or the site's by its foreign key; none is forgotten."""
    known = {each.model for each in holdings()}
    related = {
        model
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
        if field.related_model is User
    }
    assert related <= known
    assert {"chat.message", "traces.tag", "traces.share", "probes.probe", "reruns.run"} <= {
        each.label for each in holdings() if each.goes
    }


def test_all_words_of_the_user_go_and_the_numbers_stay(root: Client, anna: Held, bert: Held) -> None:
    before = places_of(WORD)
    assert {
        "chat_message",
        "traces_tag",
        "traces_trace",
        "probes_probe",
        "presets_preset",
        "memory_memory",
        "auditlog_logentry",
    } <= before
    sums = numbers()
    others = rows_of(bert.user)
    assert ask(root, anna.user).status_code == 202
    erasure = finish(anna.user)
    assert erasure.state == "done" and erasure.deleted["chat.message"] == 2
    assert places_of(WORD) == set()
    assert numbers() == sums
    assert not UsageRecord.objects.filter(user=anna.user).exclude(key=None).exists()
    assert rows_of(bert.user) == others
    left = {label for label, num in rows_of(anna.user).items() if num}
    assert left <= {"billing.ledgerentry", "usage.usagerecord", "usage.usersum", "auditlog.logentry", "privacy.erasure"}


def test_the_account_is_blocked_at_once_and_has_no_name_in_the_end(root: Client, anna: Held) -> None:
    ask(root, anna.user)
    assert anna.client.get("/api/session").status_code == 401
    assert not any(each.get_decoded().get("_auth_user_id") == str(anna.user.pk) for each in Session.objects.all())
    assert not Session.objects.filter(user=anna.user).exists()
    finish(anna.user)
    user = User.objects.get(pk=anna.user.pk)
    assert (user.username, user.email, user.first_name) == (f"erased-{user.pk}", "", "")
    assert not user.is_active and not user.has_usable_password() and not user.groups.exists()


def test_a_name_that_is_taken_is_left_to_its_account(root: Client, anna: Held) -> None:
    User.objects.create_user(f"erased-{anna.user.pk}")
    ask(root, anna.user)
    finish(anna.user)
    assert User.objects.get(pk=anna.user.pk).username.startswith(f"erased-{anna.user.pk}_")


def test_the_audit_log_tells_both_ends_without_the_name(root: Client, anna: Held) -> None:
    ask(root, anna.user)
    finish(anna.user)
    told = [(entry.actor, entry.action, entry.subject) for entry in listing().entries[:2]]
    new = f"erased-{anna.user.pk}"
    assert told == [(None, "erased", new), ("root", "began to erase all data of", new)]
    assert WORD not in str(list(LogEntry.objects.values())).lower()


def alert_rule(name: str, address: str) -> AlertRule:
    now = timezone.now()
    return AlertRule.objects.create(name=name, least_severity="note", channel="email", address=address, created_at=now)


def test_alerts_forget_the_name_and_are_not_sent_to_the_user(root: Client, anna: Held, bert: Held) -> None:
    to_anna = alert_rule(f"To {anna.user.email}", anna.user.email.upper())
    to_bert = alert_rule("To bert", bert.user.email)
    title = f"{anna.user.username} spent most, before {anna.user.username}2"
    data = {"title": title, "why": f"By {anna.user.username}.", "rule": to_anna.name}
    for rule in (to_anna, to_bert):
        Delivery.objects.create(
            rule=rule,
            rule_name=rule.name,
            finding_key=f"spending:{anna.user.pk}",
            title=title,
            content={"type": "finding.found", "data": data},
            answer=f"refused <{anna.user.email}>",
            status="sent",
            created_at=timezone.now(),
        )
    ask(root, anna.user)
    assert finish(anna.user).deleted["alerts.alertrule"] == 1
    assert list(AlertRule.objects.all()) == [to_bert]
    new = f"erased-{anna.user.pk}"
    for delivery in Delivery.objects.all():
        assert delivery.title == f"{new} spent most, before {anna.user.username}2"
        assert delivery.content["data"] == {"title": delivery.title, "why": f"By {new}.", "rule": f"To {new}"}
        assert delivery.answer == f"refused <{new}>"
    Delivery.objects.update(title="", content={})
    assert places_of(WORD) == set()


def test_no_audit_entry_of_a_stop_has_the_name(root: Client, anna: Held) -> None:
    request = begun(anna, WORD)
    assert root.post(f"/api/live/requests/{request.pk}/stop").status_code == 202
    request.delete()
    ask(root, anna.user)
    finish(anna.user)
    assert places_of(WORD) == set()


def test_open_requests_end_and_are_billed_before_they_go(root: Client, anna: Held) -> None:
    waiting = begun(anna, WORD)
    running = begun(anna, WORD)
    services.event_log().append(running.pk, [STARTED, TextReleased(at=9, text=WORD, num_tokens=1)], 1)
    ask(root, anna.user)
    waiting.refresh_from_db()
    assert waiting.status == "stopped"
    advance(anna.user.pk, timezone.now())
    assert Erasure.objects.get().state == "stopping"
    assert Request.objects.filter(pk=running.pk).exists()
    settle(running.pk)
    finish(anna.user)
    assert not Request.objects.filter(user=anna.user).exists()
    assert UsageRecord.objects.filter(request_id__in=[waiting.pk, running.pk]).count() == 2


def test_sets_of_runs_are_stopped(root: Client, anna: Held, redis_client: redis.Redis) -> None:
    path = f"/api/requests/{anna.requests['loose'].pk}/reruns"
    rerun_id = anna.client.post(path, {"n": 6}, content_type="application/json").json()["id"]
    ask(root, anna.user)
    assert Rerun.objects.get(pk=rerun_id).stopped_at is not None
    # Redis is away at the block, or a set was made late: the erasure itself stops the set.
    Rerun.objects.filter(pk=rerun_id).update(stopped_at=None)
    running = begun_run(rerun_id)
    advance(anna.user.pk, timezone.now())
    assert Erasure.objects.get().state == "stopping"
    assert Rerun.objects.get(pk=rerun_id).stopped_at is not None
    settle(running.pk)
    finish(anna.user)
    assert not Rerun.objects.filter(user=anna.user).exists()


def begun_run(rerun_id: str) -> Request:
    """A run of the set that a worker has begun."""
    run = Run.objects.filter(rerun_id=rerun_id).select_related("rerun").first()
    assert run is not None
    run.request = Request.objects.create(
        user=run.rerun.user, surface="replay", model="m", title="t", input=run.rerun.input, accepted_unix_us=unix_us()
    )
    run.save()
    services.event_log().append(run.request.pk, [STARTED], 1)
    return run.request


def begun(held: Held, text: str) -> Request:
    """An accepted request, through the site's own door."""
    conversation = held.client.post("/api/conversations", {}, content_type="application/json").json()["id"]
    path = f"/api/conversations/{conversation}/messages"
    sent = held.client.post(path, {"text": text}, content_type="application/json").json()
    return Request.objects.get(pk=sent["assistant_message"]["request_id"])


def test_redis_forgets_logs_results_locks_and_queued_messages(
    root: Client, anna: Held, bert: Held, redis_client: redis.Redis
) -> None:
    redis_client.zadd(GENERATE_QUEUES, {"generate:a": 1})
    mine, others = anna.requests["settled"], bert.requests["settled"]
    for request in (mine, others):
        services.event_log().append(request.pk, [TextReleased(at=1, text=WORD, num_tokens=1)], 9)
        redis_client.hset(probe_key(request.pk, "lens", 1), "event", WORD)
        body = base64.b64encode(json.dumps([[request.pk, WORD]]).encode()).decode()
        redis_client.rpush("generate:a", json.dumps({"body": body}))
        nested = json.dumps([[json.dumps({"user": request.user_id, "text": WORD})]])
        redis_client.rpush("probes", json.dumps({"body": base64.b64encode(nested.encode()).decode()}))
        redis_client.set(f"{PREFIX}preview:{request.user_id}", 1)
        redis_client.lpush(recent_workers_key(request.principal, request.model), "one")
    redis_client.hset(f"{PREFIX}check:0", "event", "of any user")
    ask(root, anna.user)
    finish(anna.user)
    assert redis_client.exists(log_key(others.pk), probe_key(others.pk, "lens", 1)) == 2
    keys = {key.decode() for key in redis_client.scan_iter()}
    assert not any(mine.pk in key for key in keys) and f"{PREFIX}check:0" not in keys
    assert f"{PREFIX}preview:{mine.user_id}" not in keys and f"{PREFIX}preview:{others.user_id}" in keys
    recent = [recent_workers_key(each.principal, each.model) in keys for each in (mine, others)]
    assert recent == [False, True]
    assert redis_client.llen("generate:a") == redis_client.llen("probes") == 1


def test_a_killed_erasure_goes_on_wherever_it_was(root: Client, redis_client: redis.Redis) -> None:
    """After any number of statements the process ends; the next one finishes, and the sums are whole."""

    class Killed(BaseException):
        pass

    for limit in range(1, 60, 4):
        held = fill(f"u{limit}", f"{WORD}{limit}")
        ask(root, held.user)
        before = LedgerEntry.objects.count(), UsageRecord.objects.count()
        num = 0

        def count(execute: Any, *arguments: Any, limit: int = limit) -> Any:
            nonlocal num
            num += 1
            if num > limit:
                raise Killed
            return execute(*arguments)

        with suppress(Killed), connection.execute_wrapper(count):
            advance(held.user.pk, timezone.now())
        assert finish(held.user).state == "done"
        assert places_of(f"{WORD}{limit}") == set()
        assert before == (LedgerEntry.objects.count(), UsageRecord.objects.count())
    assert not unfinished().exists()


def test_one_process_at_a_time_advances_an_erasure(
    root: Client, anna: Held, bert: Held, redis_client: redis.Redis
) -> None:
    """Another passes over it meanwhile, and takes the next. The claim of a killed process ends by itself."""
    ask(root, anna.user)
    ask(root, bert.user)
    key = f"{PREFIX}erasure:{anna.user.pk}"
    lifetimes: list[Any] = []

    def another_process(execute: Any, sql: str, *arguments: Any) -> Any:
        if not lifetimes and "presets_preset" in sql:
            lifetimes.append(redis_client.ttl(key))
            advance_all()
            assert [each.user for each in Erasure.objects.exclude(erased_at=None)] == [bert.user]
        return execute(sql, *arguments)

    with connection.execute_wrapper(another_process):
        advance_all()
    assert 0 < lifetimes[0] <= CLAIM_S
    assert not Erasure.objects.filter(erased_at=None).exists()
    assert not redis_client.exists(key)


def test_late_writes_are_found_and_a_done_erasure_stays_done(root: Client, anna: Held) -> None:
    ask(root, anna.user)
    begun_at = Erasure.objects.get().begun_at
    advance(anna.user.pk, begun_at + LATE)
    assert Erasure.objects.get().state == "searching", "the first search found something"
    Preset.objects.create(user=anna.user, name=WORD, params={})
    settled(anna.user, WORD)
    advance(anna.user.pk, begun_at + LATE)
    assert Erasure.objects.get().state == "searching"
    advance(anna.user.pk, begun_at + LATE)
    assert Erasure.objects.get().state == "done"
    assert not Preset.objects.exists() and not Trace.objects.exists()


def test_an_account_that_was_opened_again_is_erased_anew(root: Client, anna: Held) -> None:
    ask(root, anna.user)
    finish(anna.user)
    User.objects.filter(pk=anna.user.pk).update(is_active=True, username="annaagain")
    Conversation.objects.create(user=anna.user, model="m", title=WORD)
    anna.user.refresh_from_db()
    assert ask(root, anna.user).json()["erasure"] == "stopping"
    finish(anna.user)
    assert places_of(WORD) == places_of("annaagain") == set()


def test_a_user_erases_the_own_account(anna: Held) -> None:
    shown = anna.client.get("/api/account/data").json()
    assert {"table": "chat.message", "num": 2} in shown["goes"]
    assert {"table": "usage.usagerecord", "num": 3} in shown["stays"]
    wrong = anna.client.post("/api/account/erasure", {"name": "bert"}, content_type="application/json")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "wrong_name")
    assert Erasure.objects.count() == 0
    body = {"name": anna.user.username}
    assert anna.client.post("/api/account/erasure", body, content_type="application/json").status_code == 202
    assert finish(anna.user).asked_by == anna.user
    assert places_of(WORD) == set()


def test_only_the_permission_opens_the_data_of_others(anna: Held, bert: Held, root: Client) -> None:
    path = f"/api/users/{anna.user.pk}"
    for staff in (False, True):
        User.objects.filter(pk=bert.user.pk).update(is_staff=staff)
        answers = [bert.client.get(f"{path}/data"), bert.client.get(f"{path}/export"), ask(bert.client, anna.user)]
        assert [each.status_code for each in answers] == [403, 403, 403]
    bert.user.user_permissions.add(Permission.objects.get(codename="erase_user"))
    assert bert.client.get(f"{path}/export").status_code == 403
    shown = bert.client.get(f"{path}/data").json()
    assert (shown["may_export"], shown["may_erase"]) == (False, True)
    assert ask(bert.client, anna.user, "anna").status_code == 400
    assert ask(bert.client, anna.user).status_code == 202
    assert root.get("/api/users/999999/data").status_code == 404
    superuser = User.objects.get(username="root")
    assert ask(bert.client, superuser).status_code == 403
    assert not bert.client.get(f"/api/users/{superuser.pk}/data").json()["may_erase"]


def test_the_last_superuser_stays(root: Client) -> None:
    user = User.objects.get(username="root")
    shown = root.get("/api/account/data").json()
    assert (shown["is_last_superuser"], shown["may_erase"]) == (True, False)
    answer = ask(root, user)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "last_superuser")
    second = signed_in(User.objects.create_superuser("second"))
    shown = second.get(f"/api/users/{user.pk}/data").json()
    assert (shown["is_last_superuser"], shown["may_erase"]) == (False, True)
    assert ask(second, user).status_code == 202
    assert not finish(user).user.is_superuser


def test_an_erased_account_is_not_offered_for_erasure_until_it_is_opened_again(root: Client, anna: Held) -> None:
    paths = [f"/api/users/{anna.user.pk}/data", f"/api/users/{anna.user.pk}"]
    assert [root.get(path).json()["is_erased"] for path in paths] == [False, False]
    asked = ask(root, anna.user).json()
    assert (asked["is_erased"], asked["may_erase"]) == (True, False)
    finish(anna.user)
    assert [root.get(path).json()["is_erased"] for path in paths] == [True, True]
    User.objects.filter(pk=anna.user.pk).update(is_active=True)
    assert [root.get(path).json()["is_erased"] for path in paths] == [False, False]
    assert root.get(paths[0]).json()["may_erase"]


def test_prepared_messages_of_the_erased_do_nothing(root: Client, anna: Held) -> None:
    request = begun(anna, WORD)
    ask(root, anna.user)
    finish(anna.user)
    prepare(request.pk)
    settle(request.pk)
    assert places_of(WORD) == set()
