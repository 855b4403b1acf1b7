"""Two workers and OpenAI's own client: `prompt_cache_key` leads calls to one worker, whose cache answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import openai
import pytest
from openai.types import CompletionUsage
from openai.types.completion_usage import PromptTokensDetails

from tests.conformance.conftest import MODEL
from tests.faults.conftest import PATIENT, Processes, until
from tests.faults.test_several_workers import states, worker_of

RIVERS, HILLS = ("You know all about " + each + ". " * 60 for each in ("rivers", "hills"))
"""Beginnings of several blocks, without a common one."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    running = Processes(tmp_path_factory.mktemp("data"), **PATIENT)
    running.start_inference()
    running.start_inference()
    until(lambda: states(running) == ["ready", "ready"], 240)
    yield running
    running.close()


@pytest.fixture(scope="module")
def client(site: Processes) -> Iterator[openai.OpenAI]:
    key = site.manage("create_key", "admin", "--name", "tests").split()[-1]
    with openai.OpenAI(base_url=f"{site.client.base_url}/v1".replace("//v1", "/v1"), api_key=key, timeout=120) as found:
        yield found


Say = Callable[..., "Said"]


@dataclass(frozen=True)
class Said:
    """One call."""

    worker: str
    usage: CompletionUsage

    @property
    def details(self) -> PromptTokensDetails:
        assert self.usage.prompt_tokens_details is not None
        return self.usage.prompt_tokens_details


@pytest.fixture
def say(site: Processes, client: openai.OpenAI) -> Say:
    def say(text: str, begins: str = "Be brief.", **fields: Any) -> Said:
        messages = [{"role": "system", "content": begins}, {"role": "user", "content": text}]
        create = client.chat.completions.with_raw_response.create
        raw = create(model=MODEL, messages=messages, max_completion_tokens=4, **fields)  # type: ignore[call-overload]
        usage = raw.parse().usage
        assert usage is not None
        request_id = raw.headers["Sightglass-Trace"].rpartition("/")[2]
        return Said(worker_of(list(site.events(request_id))), usage)

    return say


def test_calls_with_one_key_go_to_one_worker_whose_cache_answers(say: Say) -> None:
    for key, begins in (("rivers", RIVERS), ("hills", HILLS)):
        found = [say(f"Fact {number}?", begins, prompt_cache_key=key) for number in range(4)]
        assert len({each.worker for each in found}) == 1
        cached = [each.details.cached_tokens or 0 for each in found]
        assert cached[0] < 32 and min(cached[1:]) >= 64, cached


def test_a_key_is_worth_more_than_another_open_request(site: Processes, say: Say) -> None:
    """Calls without a common beginning: those with the key stay, and one without it takes the idle worker."""
    held = say("One.", prompt_cache_key="k").worker
    (other,) = {name for name in names(site) if name != held}
    site.drain(other, True)
    until(lambda: states(site) == ["draining", "ready"], 60)
    stepped = step(site, "Count to ten.")
    assert next(event["worker"] for event in site.events(stepped) if event["type"] == "generation.started") == held
    site.drain(other, False)
    until(lambda: states(site) == ["ready", "ready"], 60)
    assert say("Two?").worker == other
    assert say("Three?", prompt_cache_key="k").worker == held
    assert say("Four?", prompt_cache_key="another").worker == other
    site.cancel(stepped)


def test_a_wanted_lifetime_is_promised_and_told_as_written(say: Say) -> None:
    begins = "You know all about seas. " * 60
    first, again = (say("Why?", begins, prompt_cache_options={"ttl": "30m"}) for _ in range(2))
    assert (first.details.cache_write_tokens or 0) >= 64 and not again.details.cache_write_tokens
    assert (again.details.cached_tokens or 0) >= 64


def step(site: Processes, text: str) -> str:
    """Begin an answer that waits before its first token; return its request's id."""
    path, body = f"/api/conversations/{site.converse()}/messages", {"text": text, "is_stepped": True}
    answer = site.client.post(path, json=body).raise_for_status().json()
    return str(answer["assistant_message"]["request_id"])


def names(site: Processes) -> list[str]:
    found: list[dict[str, Any]] = site.client.get("/api/live").json()["now"]["workers"]
    return [each["name"] for each in found]
