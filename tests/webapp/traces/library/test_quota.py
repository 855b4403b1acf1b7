"""A user's saved traces have a quota: imports beyond it are refused, and own answers count."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.traces.export.test_exports import FRAMES, import_, made_at, signed_in
from tests.webapp.traces.file.test_bundle import archive, upload
from webapp.requests.models import Request
from webapp.traces.file.jsonfile import encode_json
from webapp.traces.library.quota import QuotaExceeded, Storage
from webapp.traces.models import Trace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.fixture
def alice(settings: object) -> Client:
    environment = settings.ENVIRONMENT  # type: ignore[attr-defined]
    settings.ENVIRONMENT = replace(environment, trace_quota_bytes=1 << 20)  # type: ignore[attr-defined]
    return signed_in("alice")


def storage(client: Client) -> tuple[int, int]:
    answer = client.get("/api/storage").json()
    return answer["used_bytes"], answer["limit_bytes"]


def test_an_import_beyond_the_quota_is_refused_by_name_and_saves_nothing(alice: Client) -> None:
    first = import_(alice, encode_json(made_at(1), {"title": "one"})).json()["requests"][0]["id"]
    used, limit = storage(alice)
    assert 0 < used < 10_000 and limit == 1 << 20
    Request.objects.filter(pk=first).update(is_imported=False)  # a trace of an own answer counts too
    Trace.objects.filter(pk=first).update(blob=bytes(limit - 10))
    refused = import_(alice, encode_json(FRAMES, {"title": "two"}))
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "quota_exceeded")
    assert "take 1.0 of 1.0 MiB" in refused.json()["error"]["message"]
    assert Request.objects.count() == 1
    Trace.objects.filter(pk=first).delete()
    assert import_(alice, encode_json(FRAMES, {"title": "two"})).status_code == 201


def test_another_users_traces_do_not_count(alice: Client) -> None:
    import_(signed_in("bob"), encode_json(FRAMES, {"title": "his"}))
    assert storage(alice)[0] == 0


def test_an_archive_beyond_the_quota_leaves_nothing(alice: Client) -> None:
    bob = signed_in("bob")
    ids = [import_(bob, encode_json(made_at(n), {"title": f"{n}"})).json()["requests"][0]["id"] for n in range(3)]
    _, data = archive(bob, {"ids": ids})
    own = import_(alice, encode_json(FRAMES, {"title": "hers"})).json()["requests"][0]["id"]
    Trace.objects.filter(pk=own).update(blob=bytes((1 << 20) - 1500))
    assert upload(alice, data).status_code == 413
    assert [each.pk for each in Request.objects.filter(user=User.objects.get(username="alice"))] == [own]


def test_bytes_fit_to_the_last_one() -> None:
    Storage(10, 30).check(20)
    with pytest.raises(QuotaExceeded, match="Delete some traces"):
        Storage(10, 30).check(21)
