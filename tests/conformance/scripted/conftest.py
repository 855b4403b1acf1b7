"""A model whose answers are scripted, registered with the running product as an operator registers any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import read_metadata
from tests.browser.conftest import find_chromium
from tests.faults.conftest import Processes, until
from tests.inference.tokenization.vocabulary_files import write_byte_level
from webapp.operations.supervisor.model_workers import ModelWorker

SCRIPTED = "scripted"
THINKER = "thinker"
THINKING = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content.split('</think>')[-1] }}<|im_end|>
{% endfor %}<|im_start|>assistant
{% if enable_thinking is false %}<think>

</think>

{% endif %}"""
"""A chat template with the tags and the switch that Qwen 3's has."""


@pytest.fixture
def page(site: Processes) -> Iterator[Page]:
    """With the sign-in of the site's own client."""
    base = str(site.client.base_url)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(base_url=base)
        cookies = site.client.cookies
        page.context.add_cookies([{"name": name, "value": cookies[name], "url": base} for name in cookies])
        yield page
        browser.close()


@pytest.fixture(scope="session")
def scripted(site: Processes) -> str:
    """Its id, once its test generation has passed."""
    return registered(site, SCRIPTED, bundled_model())


@pytest.fixture(scope="session")
def thinker(site: Processes, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A scripted model whose template says that it thinks."""
    metadata = replace(read_metadata(bundled_model()), chat_template=THINKING)
    path = tmp_path_factory.mktemp("thinker") / "thinker.gguf"
    return registered(site, THINKER, write_byte_level(path, metadata, "smollm", window=32_768))


def registered(site: Processes, model: str, path: Path) -> str:
    site.client.post("/api/registry", json={"id": model, "kind": "gguf", "path": str(path)}).raise_for_status()
    worker = ModelWorker(model, 1, 1, str(path), "", "", 1)
    site.start_other_worker(worker, "tests.conformance.scripted.worker")

    def is_enabled() -> bool:
        found = site.client.get(f"/api/registry/{model}").raise_for_status().json()
        assert found["state"] != "failed", found["message"]
        return bool(found["state"] == "enabled")

    until(is_enabled, 120)
    return model
