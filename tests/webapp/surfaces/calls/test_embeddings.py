"""The embedder of a process: many calls share one thread, and none fills it alone."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.keys import create
from webapp.models.registry.offered import EMBEDDING_MODEL
from webapp.surfaces.calls import embeddings
from webapp.surfaces.calls.embeddings import Computed, Embedder
from webapp.usage.limits.rules import change

ALICE, BOB = 1, 2


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder()


async def embed(embedder: Embedder, texts: list[str], user_id: int) -> Computed:
    return await embedder.compute(await embedder.tokenize(texts), user_id)


async def test_calls_at_once_get_their_own_vectors(embedder: Embedder) -> None:
    texts = [[f"number {call} {text}" for text in range(20)] for call in range(4)]
    together = await asyncio.gather(*(embed(embedder, each, ALICE) for each in texts))
    for each, found in zip(texts, together, strict=True):
        alone = await embed(embedder, each, ALICE)
        assert np.array_equal(alone.vectors, found.vectors)
        assert len(alone.vectors) == len(each)


async def test_a_short_call_does_not_wait_for_the_end_of_a_long_one(embedder: Embedder) -> None:
    long = asyncio.create_task(embed(embedder, ["word " * 200] * 200, ALICE))
    while not embedder.num_waiting:
        await asyncio.sleep(0)
    await embed(embedder, ["Hi"], BOB)
    assert not long.done()
    long.cancel()


async def test_one_user_leaves_room_for_others(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "MOST_OF_ONE", 2_500)
    first = asyncio.create_task(embed(embedder, ["word " * 200] * 12, ALICE))
    while not embedder.num_waiting:
        await asyncio.sleep(0)
    with pytest.raises(ApiError) as refused:
        await embed(embedder, ["word " * 200] * 2, ALICE)
    assert (refused.value.status, refused.value.retry_after_s) == (429, 5)
    assert len((await embed(embedder, ["word " * 200] * 2, BOB)).vectors) == 2
    await first
    assert len((await embed(embedder, ["word " * 200] * 2, ALICE)).vectors) == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("values", "status", "code"),
    [
        ({"is_stopped": True, "stop_reason": "Not today."}, 403, "sending_stopped"),
        ({"requests_per_minute": 1}, 429, "rate_limit_exceeded"),
    ],
)
async def test_the_users_limits_hold(redis_client: object, values: dict[str, object], status: int, code: str) -> None:
    alice = await User.objects.acreate_user("alice")
    key = await asyncio.to_thread(lambda: create(alice.pk, "test"))
    await asyncio.to_thread(lambda: change(alice, **values))
    headers = {"Authorization": f"Bearer {key.secret}"}
    body = {"model": EMBEDDING_MODEL, "input": "Hi"}
    answers = [
        await AsyncClient().post("/v1/embeddings", body, content_type="application/json", headers=headers)
        for _ in range(2)
    ]
    assert answers[-1].status_code == status
    assert answers[-1].json()["error"]["code"] == code
