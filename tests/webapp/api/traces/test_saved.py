"""The saved trace as the page fetches it: the stored bytes, whole or not at all, and for its owner alone."""

from __future__ import annotations

import json

import msgspec
import pytest
import zstandard
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from benchmarks.synthetic_trace import frames
from webapp.requests.models import Request
from webapp.traces.file import archive
from webapp.traces.file.archive import encode, unpacked
from webapp.traces.models import Trace

pytestmark = pytest.mark.django_db
OBSERVED = {"type": "request.observed", "at": 7, "client": {"http_version": "é\n"}}


def client_of(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get_or_create(username=name)[0])
    return client


@pytest.fixture
def address() -> str:
    user = User.objects.create_user("alice")
    request = Request.objects.create(user=user, surface="chat", model="m", title="T")
    Trace.objects.create(request=request, blob=encode(frames(5), {}))
    return f"/api/requests/{request.pk}/trace"


def test_it_is_sent_as_it_is_kept(address: str) -> None:
    plain = client_of("alice").get(address)
    packed = client_of("alice").get(address, headers={"Accept-Encoding": "gzip, br, zstd"})
    assert plain.content == unpacked(bytes(Trace.objects.get().blob))
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "zstd"
    assert zstandard.ZstdDecompressor().stream_reader(packed.content).read() == plain.content
    assert msgspec.msgpack.decode(plain.content)["columns"]["num_tokens"] == 5


def test_what_was_observed_afterwards_goes_with_it(address: str) -> None:
    assert "Sightglass-Observed" not in client_of("alice").get(address).headers
    Trace.objects.update(observed=OBSERVED)
    assert json.loads(client_of("alice").get(address).headers["Sightglass-Observed"]) == OBSERVED


def test_it_is_its_owners_alone(address: str) -> None:
    assert client_of("bob").get(address).status_code == 404
    assert Client().get(address).status_code == 401


def test_a_deleted_or_damaged_one_is_said_to_be_so(address: str) -> None:
    Trace.objects.update(blob=bytes(Trace.objects.get().blob)[:-1])
    answer = client_of("alice").get(address)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "trace_unreadable")
    Trace.objects.all().delete()
    Request.objects.update(finished_at=timezone.now())
    assert client_of("alice").get(address).status_code == 404


def test_of_an_open_request_there_is_none_yet(address: str) -> None:
    Trace.objects.all().delete()
    answer = client_of("alice").get(address)
    assert (answer.status_code, answer.content) == (204, b"")


def test_one_of_another_version_is_not_called_damaged(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr(archive, "PROTOCOL_VERSION", 1)
        Trace.objects.update(blob=encode(frames(5), {}))
    answer = client_of("alice").get(address.replace("/trace", "/export"))
    message = "The saved trace cannot be read: The trace has version 1; this server reads version 2."
    assert (answer.status_code, answer.json()["error"]["message"]) == (409, message)
