"""An export has every row of the user and none of others, without secrets."""

from __future__ import annotations

import csv
import io
import json
import zipfile

import pytest
import redis
from django.contrib.admin.models import LogEntry as AdminEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from inference.eventlog.keys import PREFIX
from tests.webapp.inputs import asked
from tests.webapp.operations.privacy.conftest import WORD, Held
from webapp.ground.audit.actor import acting
from webapp.ground.audit.listing import listing
from webapp.ground.audit.log import record
from webapp.operations.privacy.export import export
from webapp.operations.privacy.holdings import holdings
from webapp.operations.privacy.rows import name_of
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Message
from webapp.traces.export.formats import decode_file
from webapp.usage.alerts.models import AlertRule
from webapp.usage.models import UsageRecord

pytestmark = pytest.mark.django_db(transaction=True)


def exported(user: User) -> zipfile.ZipFile:
    with export(user) as file:
        return zipfile.ZipFile(io.BytesIO(file.read()))


def test_every_row_of_the_user_is_in_it_and_none_of_others(anna: Held, bert: Held) -> None:
    file = exported(anna.user)
    names = set(file.namelist())
    for holding in holdings():
        num = holding.rows(anna.user.pk).count()
        assert (name_of(holding) in names) == bool(num and holding.is_exported), holding
        if num and holding.goes:
            assert len(file.read(name_of(holding)).splitlines()) == num, holding
    account = json.loads(file.read("account.json"))
    assert (account["username"], account["groups"]) == (anna.user.username, ["guests"])
    whole = b"".join(file.read(name) for name in names)
    assert b"mnwrtpls" not in whole
    assert anna.user.password.encode() not in whole
    assert anna.key.key.prefix.encode() in whole
    assert anna.key.key.digest.encode() not in whole and anna.key.secret.encode() not in whole


def test_an_operators_acts_on_the_site_and_on_others_are_not_in_it(anna: Held, bert: Held) -> None:
    secret, address = "whsec_zq", "https://hooks.example.org/?token=zq"
    AlertRule.objects.create(
        name="A rule",
        channel="webhook",
        address=address,
        secret=secret,
        created_by=anna.user,
        created_at=timezone.now(),
    )
    with acting(anna.user.pk):
        record(bert.user, "looked at", after={"e-mail": bert.user.email})
    AdminEntry.objects.create(user=anna.user, action_flag=2, object_repr=bert.user.username)
    file = exported(anna.user)
    whole = b"".join(file.read(name) for name in file.namelist())
    assert secret.encode() not in whole and address.encode() not in whole
    assert b"mnwrtpls" not in whole


def test_conversations_and_traces_are_files_that_are_imported_again(anna: Held) -> None:
    file = exported(anna.user)
    (name,) = (name for name in file.namelist() if name.startswith("conversations/"))
    document = json.loads(file.read(name))
    assert (document["title"], document["messages"][0]["text"]) == (WORD, WORD)
    traces = [name for name in file.namelist() if name.startswith("traces/")]
    assert len(traces) == 3 and all(decode_file(file.read(name)).frames for name in traces)
    probes = [name for name in file.namelist() if name.startswith("probes/")]
    assert json.loads(file.read(probes[0])) == {"word": WORD}


def test_requests_that_are_still_running_are_named(anna: Held) -> None:
    request = Request.objects.create(user=anna.user, surface="chat", model="m", title="T", input=asked())
    readme = exported(anna.user).read("README.txt").decode()
    assert "Requests still running: 1." in readme and request.pk in readme


def test_no_cell_is_a_formula(anna: Held) -> None:
    UsageRecord.objects.filter(user=anna.user).update(model='=HYPERLINK("http://evil")')
    file = exported(anna.user)
    rows = list(csv.DictReader(io.StringIO(file.read("records/usage.usagerecord.csv").decode())))
    assert {row["model"] for row in rows} == {'\'=HYPERLINK("http://evil")'}
    assert len(rows) == 3 and rows[0]["user_id"] == str(anna.user.pk)


def test_the_api_sends_it_and_the_audit_log_tells_of_operators(root: Client, anna: Held) -> None:
    num = len(listing().entries)
    answer = anna.client.get("/api/account/export")
    assert answer["Content-Type"] == "application/zip"
    assert len(listing().entries) == num
    assert root.get(f"/api/users/{anna.user.pk}/export").status_code == 200
    entry = listing().entries[0]
    assert (entry.actor, entry.action, entry.subject) == ("root", "exported all data of", anna.user.username)


def test_one_export_of_an_account_is_made_at_once(anna: Held, redis_client: redis.Redis) -> None:
    key = f"{PREFIX}export:{anna.user.pk}"
    redis_client.set(key, 1)
    assert anna.client.get("/api/account/export").status_code == 409
    redis_client.delete(key)
    assert anna.client.get("/api/account/export").status_code == 200
    assert not redis_client.exists(key)
    assert Message.objects.filter(conversation__user=anna.user).count() == 2
