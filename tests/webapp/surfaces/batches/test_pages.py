"""Lists of batches and files, page by page, as the official clients walk through them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from tests.webapp.surfaces.batches.test_advance import client_of
from webapp.models.registry.offered import EMBEDDING_MODEL
from webapp.surfaces.batches.models import Batch, StoredFile

pytestmark = pytest.mark.django_db(transaction=True)
NUM = 7
NOW = timezone.now()
SEEN = [f"openai_{n}" for n in range(0, NUM, 2)]
"""Batches of the embedding model."""


@pytest.fixture
def alice(redis_client: object) -> Client:
    client = client_of("alice")
    user = User.objects.get(username="alice")
    for n in range(NUM):
        # Two of them were made at the same moment.
        row: dict[str, Any] = {"user": user, "created_at": NOW - timedelta(seconds=n // 2)}
        for family in ("openai", "anthropic"):
            Batch.objects.create(
                id=f"{family}_{n}",
                family=family,
                expires_at=NOW,
                model_ids=["another" if n % 2 else EMBEDDING_MODEL],
                **row,
            )
        StoredFile.objects.create(id=f"file_{n}", name=f"{n}", num_bytes=1, content="x", **row)
    return client


def walk(client: Client, path: str, cursor: str) -> list[str]:
    """The ids of all pages of three."""
    found: list[str] = []
    while True:
        after = f"&{cursor}={found[-1]}" if found else ""
        page = client.get(f"{path}{'&' if '?' in path else '?'}limit=3{after}").json()
        found += [each["id"] for each in page["data"]]
        assert len(page["data"]) == 3 or not page["has_more"]
        if not page["has_more"]:
            return found


def newest_first(model: Any, **which: Any) -> list[str]:
    return list(model.objects.filter(**which).order_by("-created_at", "-id").values_list("pk", flat=True))


@pytest.mark.parametrize(
    ("path", "cursor", "family"),
    [("/v1/batches", "after", "openai"), ("/v1/messages/batches", "after_id", "anthropic")],
)
def test_each_batch_stands_on_one_page(alice: Client, path: str, cursor: str, family: str) -> None:
    assert walk(alice, path, cursor) == newest_first(Batch, family=family)


def test_a_page_may_end_before_a_batch(alice: Client) -> None:
    ids = newest_first(Batch, family="anthropic")
    page = alice.get(f"/v1/messages/batches?limit=3&before_id={ids[5]}").json()
    assert [each["id"] for each in page["data"]] == ids[2:5]
    assert (page["has_more"], page["first_id"], page["last_id"]) == (True, ids[2], ids[4])
    assert not alice.get(f"/v1/messages/batches?limit=3&before_id={ids[2]}").json()["has_more"]


@pytest.mark.parametrize("order", ["desc", "asc"])
def test_each_file_stands_on_one_page(alice: Client, order: str) -> None:
    ids = newest_first(StoredFile)
    assert walk(alice, f"/v1/files?order={order}", "after") == (ids if order == "desc" else ids[::-1])


def test_a_key_of_some_models_walks_through_their_batches_only(alice: Client) -> None:
    limited = client_of("alice", models=[EMBEDDING_MODEL])
    ids = [pk for pk in newest_first(Batch, family="openai") if pk in SEEN]
    assert walk(limited, "/v1/batches", "after") == ids
    assert limited.get("/v1/batches?after=openai_1").status_code == 400
