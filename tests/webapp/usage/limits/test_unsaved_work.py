"""Work whose request is not saved corrects its rates as requests do: once done to its use, and once failed to none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from tests.webapp.identity.keys.programs import new_key, program
from tests.webapp.registered import CONFIGURED, beat
from tests.webapp.surfaces.batches.test_embeddings import batch_of
from webapp.models.registry.offered import EMBEDDING_MODEL
from webapp.surfaces.calls.embeddings import Embedder
from webapp.usage.limits.models import Rule
from webapp.usage.limits.taking import levels_of

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
LIMIT = 10_000
"""The failing texts below are estimated at more than half of it."""


@pytest.fixture(autouse=True)
def _worker(redis_client: redis.Redis) -> None:
    """One is ready, by its heartbeat; nothing takes the tasks."""
    beat(redis_client, "test:1", CONFIGURED)


@pytest.fixture
def alice() -> User:
    """A request that she took comes back after half a minute, so that it still counts on a slow machine."""
    user = User.objects.create_user("alice")
    Rule.objects.create(user=user, requests_per_minute=2, input_tokens_per_minute=LIMIT)
    return user


def records(client: redis.Redis) -> list[bytes]:
    """What requests took and have not corrected yet."""
    return list(client.scan_iter("sightglass:{limits}:taken:*"))


def debts(user: User) -> dict[str, int]:
    """What is missing in each bucket now, in whole units."""
    return {each.name: each.limit - each.remaining for each in levels_of(user.pk, EMBEDDING_MODEL, None)}


def embed(user: User, text: str) -> Any:
    body = {"model": EMBEDDING_MODEL, "input": text}
    return program(new_key(user).secret).post("/v1/embeddings", json.dumps(body), JSON)


def test_an_embedding_takes_what_it_read_and_not_its_estimate(alice: User, redis_client: redis.Redis) -> None:
    """Four characters are estimated as one token: 50 of this text."""
    Rule.objects.filter(user=alice).update(input_tokens_per_minute=120)
    text = "1 " * 100
    answer = embed(alice, text)
    assert answer.status_code == 200
    assert answer.json()["usage"]["total_tokens"] == 102
    assert debts(alice)["input_tokens"] > 51
    assert records(redis_client) == []


def test_an_embedding_that_fails_gives_its_tokens_back_and_counts_as_a_request(
    alice: User, redis_client: redis.Redis
) -> None:
    answer = embed(alice, "word " * 5_000)
    assert (answer.status_code, "tokens" in answer.json()["error"]["message"]) == (400, True)
    assert debts(alice) == {"requests": 1, "input_tokens": 0}
    assert records(redis_client) == []


def test_a_line_of_a_batch_that_fails_gives_its_tokens_back(alice: User, redis_client: redis.Redis) -> None:
    client: Client = program(new_key(alice).secret)
    batch = batch_of(client, {"model": EMBEDDING_MODEL, "input": "word " * 5_000})
    batch.refresh_from_db()
    assert batch.lines.get().status == "errored"
    assert debts(alice) == {"requests": 1, "input_tokens": 0}
    assert records(redis_client) == []


def test_a_counted_prompt_takes_a_request_and_leaves_nothing_to_correct(alice: User, redis_client: redis.Redis) -> None:
    body = {"model": CONFIGURED, "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"anthropic-version": "2023-06-01"}
    answer = program(new_key(alice).secret).post("/v1/messages/count_tokens", json.dumps(body), JSON, headers=headers)
    assert answer.status_code == 200
    assert debts(alice) == {"requests": 1, "input_tokens": 0}
    assert records(redis_client) == []


async def test_a_client_that_leaves_gives_its_tokens_back(
    alice: User, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call is cancelled while it waits for the embedder."""
    begun = asyncio.Event()

    async def wait(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Embedder, "compute", wait)
    secret = (await asyncio.to_thread(new_key, alice)).secret
    body = {"model": EMBEDDING_MODEL, "input": "word " * 2_000}
    sent = asyncio.create_task(
        AsyncClient().post("/v1/embeddings", body, JSON, headers={"Authorization": f"Bearer {secret}"})
    )
    await begun.wait()
    sent.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sent
    assert await asyncio.to_thread(records, redis_client) == []
