"""One started product with its real model, and the way in which other people's clients reach it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.faults.conftest import PATIENT, Processes
from tests.webapp.registered import tiny

MODEL = "smollm2-135m-instruct"
EMBEDDING_MODEL = "all-minilm-l6-v2"
SMALL_MODEL = "tiny"
"""With random weights. An answer takes no time, so calls whose answer is of no interest ask it."""


@dataclass(frozen=True)
class Access:
    """All that a client needs."""

    address: str
    key: str


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    running = Processes(tmp_path_factory.mktemp("data"), **PATIENT, SIGHTGLASS_DRAIN_S="0")
    running.start_inference()
    yield running
    running.close()


@pytest.fixture(scope="session")
def access(site: Processes) -> Access:
    """A key of the user whose sign-in the site's own client has."""
    return Access(
        str(site.client.base_url).rstrip("/"), site.manage("create_key", "admin", "--name", "tests").split()[-1]
    )


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Another product, with the small model."""
    model = {"SIGHTGLASS_MODEL": str(tiny(tmp_path_factory.mktemp("model"))), "SIGHTGLASS_MODEL_NAME": SMALL_MODEL}
    running = Processes(tmp_path_factory.mktemp("data"), **PATIENT, **model, SIGHTGLASS_DRAIN_S="0")
    running.start_inference()
    yield running
    running.close()


@pytest.fixture(scope="session")
def small_key(small: Processes) -> str:
    return small.manage("create_key", "admin", "--name", "tests").split()[-1]
