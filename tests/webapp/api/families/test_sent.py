"""A trace keeps the client's call as it was written, so that it can be sent again."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.api.families.calls import BODIES
from webapp.identity.keys.keys import create
from webapp.lifecycle import start
from webapp.requests.models import Request
from webapp.traces.store import load_frames

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_client")]
EMBEDDINGS = "/v1/embeddings"


@pytest.fixture
def alice() -> Client:
    key = create(User.objects.create_user("alice").pk, "test")
    return Client(headers={"Authorization": f"Bearer {key.secret}"})


def test_the_body_is_kept_byte_by_byte(alice: Client) -> None:
    body = '{ "input":\t"Hi", "model": "all-minilm-l6-v2",\n"user": "1.0" }'
    alice.post(f"/record/it{EMBEDDINGS}", body, content_type="application/json")
    accepted = load_frames(Request.objects.get().pk)[0].events[0]
    assert (accepted.sent.path, accepted.sent.body) == (f"/record/it{EMBEDDINGS}", body)  # type: ignore[union-attr]


def test_a_body_that_is_too_long_is_not_kept(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "MAX_KEPT_BYTES", 40)
    alice.post(EMBEDDINGS, json.dumps(BODIES[EMBEDDINGS]), content_type="application/json")
    accepted = load_frames(Request.objects.get().pk)[0].events[0]
    assert accepted.sent is None  # type: ignore[union-attr]
