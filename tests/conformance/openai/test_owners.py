"""A stored response is its owner's alone: to another user it is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from tests.conformance.openai.conftest import MODEL
from tests.faults.conftest import Processes
from tests.sign_in import sign_in_by_link


@pytest.fixture(scope="module")
def other(product: Processes, base_url: str) -> Iterator[openai.OpenAI]:
    """The client of another user."""
    with httpx.Client(base_url=product.client.base_url) as browser:
        sign_in_by_link(browser, product.manage("signin_link", "--user", "other").strip())
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    with openai.OpenAI(base_url=base_url, api_key="none", default_headers={"Cookie": cookies}, max_retries=0) as client:
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
