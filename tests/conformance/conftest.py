"""One started product with its real model, and the way in which other people's clients reach it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.faults.conftest import PATIENT, Processes

MODEL = "smollm2-135m-instruct"


@dataclass(frozen=True)
class Access:
    """All that a client needs."""

    address: str
    key: str
    headers: dict[str, str]
    """Headers of every request."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    running = Processes(tmp_path_factory.mktemp("data"), **PATIENT, SIGHTGLASS_DRAIN_S="0")
    running.start_inference()
    yield running
    running.close()


@pytest.fixture(scope="session")
def access(site: Processes) -> Access:
    """The only place that knows how a client proves whose it is."""
    cookies = "; ".join(f"{name}={value}" for name, value in site.client.cookies.items())
    return Access(str(site.client.base_url).rstrip("/"), "none", {"Cookie": cookies})
