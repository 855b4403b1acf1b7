"""OpenAI's own client at the running product with its real model."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from tests.faults.conftest import PATIENT, Processes

MODEL = "smollm2-135m-instruct"
EMBEDDING_MODEL = "all-minilm-l6-v2"


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    running = Processes(tmp_path_factory.mktemp("data"), **PATIENT)
    running.start_inference()
    yield running
    running.close()


@pytest.fixture(scope="session")
def user(product: Processes) -> str:
    """The name of the user of the product's own client, whose keys these are."""
    return str(product.client.get("/api/session").json()["user"]["name"])


def new_key(product: Processes, user: str, *scopes: str) -> str:
    return product.manage("create_key", user, "--name", "conformance", *scopes).split()[-1]


@pytest.fixture(scope="session")
def key(product: Processes, user: str) -> str:
    return new_key(product, user)


@pytest.fixture(scope="session")
def base_url(product: Processes) -> str:
    return f"{product.client.base_url}/v1".replace("//v1", "/v1")


@pytest.fixture(scope="session")
def client(base_url: str, key: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=base_url, max_retries=0, timeout=120, api_key=key) as client:
        yield client
