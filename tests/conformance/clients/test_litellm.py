"""LiteLLM as a client of both APIs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.clients.conftest import Heard

FAMILIES = pytest.mark.parametrize("family", ["openai", "anthropic"])
CALLED = {"finish": "tool_calls", "name": "weather"}


@pytest.fixture(scope="module")
def found(heard: Heard) -> Any:
    return heard("litellm", "litellm_client.py")


@FAMILIES
def test_completion(found: Any, family: str) -> None:
    whole = found[family]["whole"]
    prompt, answer, total = whole["counted"]
    assert whole["text"] and whole["finish"] in ("stop", "length")
    assert prompt + answer == total and min(prompt, answer) > 0


@FAMILIES
def test_a_stream_says_and_counts_what_the_answer_does(found: Any, family: str) -> None:
    streamed = found[family]["streamed"]
    assert streamed.pop("numPieces") > 1
    assert streamed == found[family]["whole"]


@FAMILIES
@pytest.mark.parametrize("way", ["toolRound", "streamedToolRound"])
def test_a_forced_tool_is_called_and_its_result_answered(found: Any, family: str, way: str) -> None:
    """LiteLLM hangs notes of its own on the message that it sends back."""
    trip = found[family][way]
    assert CALLED.items() <= trip.items()
    assert list(trip["arguments"]) == ["city"]
    assert trip["after"][1]


@FAMILIES
def test_a_refusal_has_its_class(found: Any, family: str) -> None:
    assert found[family]["refused"] == {
        "unknown model": "NotFoundError",
        "wrong key": "AuthenticationError",
        "no such role": "BadRequestError",
    }


def test_embeddings(found: Any) -> None:
    assert found["embedded"]["sizes"] == [384, 384]
    assert found["embedded"]["tokens"] > 0
