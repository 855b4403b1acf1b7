"""Schemathesis makes up calls from the OpenAPI document, also wrong ones: no answer is a 5xx.

It draws the same calls each time: a few of each operation, and with `make test-whole` three times as many.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from scripts.bootstrap import client_python
from tests.conformance.conftest import EMBEDDING_MODEL, SMALL_MODEL
from tests.environment import IS_WHOLE
from tests.faults.conftest import Processes
from webapp.api.docs.openapi import build_openapi

SAID = [{"role": "user", "content": "Hi"}]
WORKING: dict[str, dict[str, Any]] = {
    "openai.ChatBody": {"model": SMALL_MODEL, "messages": SAID},
    "openai.CompletionsBody": {"model": SMALL_MODEL, "prompt": "Hi"},
    "openai.ResponseBody": {"model": SMALL_MODEL, "input": "Hi"},
    "openai.EmbeddingsBody": {"model": EMBEDDING_MODEL, "input": "Hi"},
    "anthropic.MessageBody": {"model": SMALL_MODEL, "messages": SAID},
    "anthropic.CountBody": {"model": SMALL_MODEL, "messages": SAID},
}
"""Fields without which no call gets far. The others are made up."""
ANSWERED = {
    "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/responses/input_tokens", "/v1/embeddings",
    "/v1/messages", "/v1/messages/count_tokens",
}  # fmt: skip


def answers_of(
    small: Processes, folder: Path, document: Path, header: str, num: int, *options: str
) -> set[tuple[str, int]]:
    """Path and status of every answer to so many calls of each operation.

    Fails at a 5xx, with the call that repeats it.
    """
    report = folder / "answers.har"
    command: list[str | Path] = [
        client_python("schemathesis").with_name("st"), "run", document, "--url", str(small.client.base_url),
        "--header", header, "--checks", "not_a_server_error", "--generation-deterministic", "--no-color",
        "--warnings", "off", "--request-timeout", "60", "--report", "har", "--report-har-path", report,
        "--phases", "fuzzing", "-n", str(num * 3 if IS_WHOLE else num), *options,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    entries = json.loads(report.read_text("utf-8"))["log"]["entries"]
    return {(urlsplit(each["request"]["url"]).path, each["response"]["status"]) for each in entries}


def working(folder: Path) -> Path:
    """The document with calls that work, but for the fields that are made up."""
    document = build_openapi()
    for name, fields in WORKING.items():
        schema = document["components"]["schemas"][name]
        schema["properties"] |= {field: {"enum": [value]} for field, value in fields.items()}
        schema["required"] = sorted({*schema.get("required", ()), *fields})
    for operation in (each for path in document["paths"].values() for each in path.values()):
        # A key of an earlier call would be refused.
        operation["parameters"] = [each for each in operation["parameters"] if each["name"] != "Idempotency-Key"]
    return written(document, folder)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    return written(build_openapi(), tmp_path)


def written(document: dict[str, Any], folder: Path) -> Path:
    path = folder / "openapi.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_calls_of_both_families_that_nearly_work(small: Processes, small_key: str, tmp_path: Path) -> None:
    document, header = working(tmp_path), f"Authorization: Bearer {small_key}"
    found = answers_of(small, tmp_path, document, header, 5, "--include-path-regex", "^/v1/")
    assert {path for path, status in found if status == 200} >= ANSWERED


def test_calls_of_both_families_of_any_form(small: Processes, small_key: str, tmp_path: Path, document: Path) -> None:
    header = f"Authorization: Bearer {small_key}"
    assert answers_of(small, tmp_path, document, header, 4, "--include-path-regex", "^/v1/")


def test_calls_of_the_sites_own_api_by_key(small: Processes, small_key: str, tmp_path: Path, document: Path) -> None:
    header = f"Authorization: Bearer {small_key}"
    found = answers_of(small, tmp_path, document, header, 1, "--include-path-regex", "^/api/")
    assert {status for _, status in found} >= {200, 400, 404}


def test_readings_of_the_sites_own_api_by_an_operator(small: Processes, tmp_path: Path, document: Path) -> None:
    """By a session, which reaches operators' operations too. It writes nothing: a call could end the session."""
    header = f"Cookie: sessionid={small.client.cookies['sessionid']}"
    only = ("--include-method", "GET", "--exclude-path-regex", "^/v1/")
    found = answers_of(small, tmp_path, document, header, 2, *only)
    assert {status for _, status in found} >= {200, 404}
