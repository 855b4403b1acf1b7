"""OpenAI's own client at the running product with its real model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
def access(product: Processes) -> dict[str, Any]:
    """How a client is let in: what its constructor takes besides the address."""
    cookies = "; ".join(f"{name}={value}" for name, value in product.client.cookies.items())
    return {"api_key": "none", "default_headers": {"Cookie": cookies}}


@pytest.fixture(scope="session")
def base_url(product: Processes) -> str:
    return f"{product.client.base_url}/v1".replace("//v1", "/v1")


@pytest.fixture(scope="session")
def client(base_url: str, access: dict[str, Any]) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=base_url, max_retries=0, timeout=120, **access) as client:
        yield client
