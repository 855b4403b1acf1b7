"""OpenAI's npm client at the running product."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.openai.conftest import EMBEDDING_MODEL, MODEL

HERE = Path(__file__).parent
CLIENT = HERE.parents[2] / "frontend" / "node_modules" / "openai" / "index.mjs"


@pytest.fixture(scope="module")
def found(base_url: str, key: str) -> Any:
    """What the client got."""
    command = ["node", str(HERE / "client.mjs"), str(CLIENT), base_url, key, MODEL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_chat_completions(found: Any) -> None:
    assert found["chat"]
    assert found["chatStream"] == found["chat"]
    assert found["toolRound"] == ["Paris"]


def test_responses(found: Any) -> None:
    assert found["response"]["text"] and found["response"]["isSame"]
    assert found["responseStream"] == found["response"]["text"]
    assert found["resumed"] == {"isWhole": True, "last": "response.incomplete", "status": "incomplete"}
    assert found["cancelled"] == "cancelled"


def test_leaving_and_refusals(found: Any) -> None:
    assert found["left"]
    assert found["refused"] == {"is404": True, "code": "model_not_found", "param": "model"}


def test_embeddings_completions_and_models(found: Any) -> None:
    assert found["others"]["numDimensions"] == 384
    assert found["others"]["text"].startswith(" Paris")
    assert {MODEL, EMBEDDING_MODEL} <= set(found["others"]["models"])


def test_batches(found: Any) -> None:
    assert found["batch"] == {"counts": {"total": 1, "completed": 1, "failed": 0}, "kind": "chat.completion"}
