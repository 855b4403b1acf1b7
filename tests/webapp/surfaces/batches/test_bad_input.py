"""Calls of files and batches with strange values: each is refused in its family's form, and none is a fault."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.webapp.surfaces.batches.test_advance import BODY, client_of
from webapp.surfaces.batches.models import Batch

pytestmark = pytest.mark.django_db(transaction=True)
STRANGE: list[Any] = [None, True, -1, 10**30, "", "\x00", "a" * 5000, [], {}, [[]], {"a": "\x00"}, {"a" * 65: "b"}]
ITEM = {"custom_id": "a", "params": BODY}
BATCH: dict[str, Any] = {
    "input_file_id": "file_x",
    "endpoint": "/v1/responses",
    "completion_window": "24h",
    "metadata": {"a": "b"},
    "output_expires_after": {"anchor": "created_at", "seconds": 3600},
}


@pytest.fixture
def alice(redis_client: object) -> Client:
    return client_of("alice")


def refused(answer: Any) -> None:
    assert 400 <= answer.status_code < 500, answer.content
    assert answer.json()["error"]["message"]


def post(client: Client, path: str, body: object) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json")


@pytest.mark.parametrize("name", BATCH)
def test_strange_values_in_a_batch(alice: Client, name: str) -> None:
    for value in STRANGE:
        refused(post(alice, "/v1/batches", BATCH | {name: value}))  # its file is not there in any case
    assert not Batch.objects.exists()


@pytest.mark.parametrize("name", ITEM)
def test_strange_values_in_a_message_of_a_batch(alice: Client, name: str) -> None:
    for value in STRANGE:
        if name == "params" and isinstance(value, dict):
            continue  # read when it begins
        refused(post(alice, "/v1/messages/batches", {"requests": [ITEM | {name: value}]}))
    for requests in STRANGE:
        refused(post(alice, "/v1/messages/batches", {"requests": requests}))
    assert not Batch.objects.exists()


@pytest.mark.parametrize(
    "path",
    [
        "/v1/files?limit=0",
        "/v1/files?limit=x",
        "/v1/files?order=up",
        "/v1/files?after=nope",
        "/v1/files/x/content",
        "/v1/batches?limit=101",
        "/v1/batches?after=nope",
        "/v1/batches/%F0%9F%99%82",
        "/v1/messages/batches?limit=1001",
        "/v1/messages/batches/" + "a" * 3000,
        "/v1/messages/batches/x/results",
    ],
)
def test_addresses_that_name_nothing(alice: Client, path: str) -> None:
    refused(alice.get(path))


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"purpose": "vision"},
        {"purpose": "batch", "expires_after[seconds]": "x"},
        {"purpose": "batch", "expires_after[seconds]": "5"},
        {"purpose": "batch", "expires_after[anchor]": "now"},
    ],
)
def test_forms_that_are_no_file_of_a_batch(alice: Client, form: dict[str, str]) -> None:
    refused(alice.post("/v1/files", form | {"file": SimpleUploadedFile("a", b"{}")}))
    refused(alice.post("/v1/files", {"purpose": "batch", "file": "no file"}))


def test_a_list_without_an_entry_is_a_page(alice: Client) -> None:
    for path in ("/v1/files", "/v1/batches", "/v1/messages/batches", "/v1/files?purpose=vision"):
        assert alice.get(path).json()["data"] == []
