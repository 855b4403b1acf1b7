"""The OpenAI Agents SDK, over chat completions and over responses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.clients.conftest import Heard

MODELS = pytest.mark.parametrize("model", ["chat", "responses"])
TRIP = ["tool_call_item", "tool_call_output_item", "message_output_item"]


@pytest.fixture(scope="module")
def found(heard: Heard) -> Any:
    return heard("others", "agents_client.py")


@MODELS
def test_an_agent_answers(found: Any, model: str) -> None:
    assert found[model]["text"]
    assert min(found[model]["counted"]) > 0


@MODELS
def test_an_agent_streams(found: Any, model: str) -> None:
    is_same, num_pieces = found[model]["streamed"]
    assert is_same and num_pieces > 1


@MODELS
def test_the_runner_calls_a_function_and_goes_on(found: Any, model: str) -> None:
    assert found[model]["items"] == TRIP
    assert found[model]["streamedItems"] == TRIP
    assert len(found[model]["cities"]) == 2
    assert all(found[model]["output"])
