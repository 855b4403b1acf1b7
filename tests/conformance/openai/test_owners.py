"""A stored response is its owner's alone: to another user it is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.conformance.openai.conftest import EMBEDDING_MODEL, MODEL, new_key
from tests.faults.conftest import Processes


@pytest.fixture(scope="module")
def other(product: Processes, base_url: str) -> Iterator[openai.OpenAI]:
    """The client of another user."""
    product.manage("signin_link", "--user", "other")
    with openai.OpenAI(base_url=base_url, api_key=new_key(product, "other"), max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def stored(client: openai.OpenAI) -> Any:
    return client.responses.create(model=MODEL, input="Hi", max_output_tokens=4, background=True)


def test_another_user_reads_changes_and_deletes_nothing(other: openai.OpenAI, stored: Any) -> None:
    for work in (
        other.responses.retrieve,
        lambda each: list(other.responses.retrieve(each, stream=True)),
        other.responses.cancel,
        other.responses.delete,
        lambda each: list(other.responses.input_items.list(each)),
    ):
        with pytest.raises(openai.NotFoundError):
            work(stored.id)


def test_another_user_goes_on_from_nothing(client: openai.OpenAI, other: openai.OpenAI, stored: Any) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        other.responses.create(model=MODEL, input="x", previous_response_id=stored.id)
    assert refused.value.code == "previous_response_not_found"
    item = f"msg_{stored.id.removeprefix('resp_')}_0"
    with pytest.raises(openai.NotFoundError):
        other.responses.create(model=MODEL, input=[{"type": "item_reference", "id": item}])
    assert client.responses.retrieve(stored.id).id == stored.id


def test_a_key_does_what_its_scopes_say(product: Processes, base_url: str, user: str, stored: Any) -> None:
    def client(feature: str) -> openai.OpenAI:
        return openai.OpenAI(base_url=base_url, api_key=new_key(product, user, "--feature", feature), max_retries=0)

    with client("read") as reader:
        assert reader.responses.retrieve(stored.id).id == stored.id
        for work in (reader.responses.cancel, reader.responses.delete):
            with pytest.raises(openai.PermissionDeniedError):
                work(stored.id)
    with client("embeddings") as embedder:
        assert embedder.embeddings.create(model=EMBEDDING_MODEL, input="Hi").data
        for refused in (
            lambda: embedder.responses.retrieve(stored.id),
            lambda: embedder.completions.create(model=MODEL, prompt="Hi", max_tokens=1),
            lambda: embedder.responses.create(model=MODEL, input="Hi", max_output_tokens=1),
        ):
            with pytest.raises(openai.PermissionDeniedError):
                refused()
