"""One started product with its real model, and the way in which other people's clients reach it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.faults.conftest import PATIENT, Processes

MODEL = "smollm2-135m-instruct"
EMBEDDING_MODEL = "all-minilm-l6-v2"


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
