"""A model whose answers are scripted, registered with the running product as an operator registers any other."""

from __future__ import annotations

import pytest

from inference.tokenization.bundled import bundled_model
from tests.faults.conftest import Processes, until
from webapp.supervisor.model_workers import ModelWorker

SCRIPTED = "scripted"


@pytest.fixture(scope="session")
def scripted(site: Processes) -> str:
    """Its id, once its test generation has passed."""
    path = str(bundled_model())
    site.client.post("/api/registry", json={"id": SCRIPTED, "kind": "gguf", "path": path}).raise_for_status()
    worker = ModelWorker(SCRIPTED, 1, 1, path, "", "", 1)
    site.start_other_worker(worker, "tests.conformance.scripted.worker")

    def is_enabled() -> bool:
        found = site.client.get(f"/api/registry/{SCRIPTED}").raise_for_status().json()
        assert found["state"] != "failed", found["message"]
        return bool(found["state"] == "enabled")

    until(is_enabled, 120)
    return SCRIPTED
