"""LangChain's chat models of both families, and its embeddings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.clients.conftest import Heard

MODELS = pytest.mark.parametrize("model", ["openai", "responses", "anthropic"])


@pytest.fixture(scope="module")
def found(heard: Heard) -> Any:
    return heard("others", "langchain_client.py")


@MODELS
def test_invoke(found: Any, model: str) -> None:
    counted = found[model]["counted"]
    assert found[model]["text"].strip()
    assert counted["input_tokens"] + counted["output_tokens"] == counted["total_tokens"]


@MODELS
def test_a_stream_says_and_counts_what_the_answer_does(found: Any, model: str) -> None:
    text, num_pieces = found[model]["streamed"]
    assert (text, num_pieces > 1) == (found[model]["text"], True)
    for count in ("input_tokens", "output_tokens", "total_tokens"):
        assert found[model]["streamedCounted"][count] == found[model]["counted"][count]


@MODELS
def test_a_bound_tool_is_called_and_its_result_answered(found: Any, model: str) -> None:
    trip = found[model]["toolRound"]
    assert trip["call"] == ["weather", ["city"]]
    assert trip["streamed"] == [trip["call"]]
    assert trip["result"].startswith("Sunny in ")
    assert trip["after"]


@MODELS
def test_a_structured_answer(found: Any, model: str) -> None:
    person = found[model]["person"]
    assert isinstance(person["name"], str) and 0 <= person["age"] <= 130


def test_embeddings(found: Any) -> None:
    assert found["embedded"] == [384, 384]
