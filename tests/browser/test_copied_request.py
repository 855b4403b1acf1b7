"""A request's text for curl and for Python, copied from its page and run against the product."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.running import Running, post
from tests.browser.test_next_request import ask
from tests.browser.visiting import visit

TEXTS = ("Name a river.", 'It\'s "$HOME" `id` !! \\ \u202e, then\n\nJSON\nof which length?')


@pytest.fixture(scope="module")
def base(product: Running) -> str:
    return product.link.partition("/signin")[0]


@pytest.fixture(scope="module")
def environment(page: Page, base: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    secret = post(page, base, "/api/keys", {"name": "copied"})["secret"]
    return os.environ | {"SIGHTGLASS_API_KEY": secret, "COPIED": str(tmp_path_factory.mktemp("copied"))}


@pytest.fixture(scope="module")
def request_id(page: Page, base: str) -> str:
    """The second request of a chat."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=base)
    visit(page, f"{base}/")
    for text in TEXTS:
        ask(page, text)
    return newest(page, base)


def newest(page: Page, base: str) -> str:
    found = page.request.get(f"{base}/api/requests").json()
    return str(found["requests"][0]["id"])


def copied(page: Page, base: str, request_id: str, name: str, panel: str = "Context") -> str:
    visit(page, f"{base}/requests/{request_id}?panel={panel}")
    page.get_by_role("button", name=f"Copy as {name}").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    text = str(page.evaluate("navigator.clipboard.readText()"))
    assert "sg-" not in text
    return text


def events(page: Page, base: str, request_id: str) -> list[dict[str, Any]]:
    text = page.request.get(f"{base}/api/requests/{request_id}/events").text()
    frames = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: {")]
    return [event for frame in frames for event in frame.get("events", ())]


def tokens(found: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """The prompt's and the answer's."""
    prompt = next(each["ids"] for each in found if each["type"] == "prompt.tokenized")
    return prompt, [each["id"] for each in found if each["type"] == "token.sampled"]


def run(environment: dict[str, str], *command: str, text: str = "") -> str:
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def traced(text: str, environment: dict[str, str]) -> str:
    """Run curl with its headers kept, and return the id of the trace."""
    headers = Path(environment["COPIED"]) / "headers"
    answer = run(environment, "sh", text=text.replace("curl ", f"curl -sS -D '{headers}' ", 1))
    found = re.search(r"(?i)sightglass-trace: \S*/(req_\w+)", headers.read_text())
    assert found is not None, answer
    return found[1]


def test_curl_makes_the_same_tokens(page: Page, base: str, request_id: str, environment: dict[str, str]) -> None:
    again = traced(copied(page, base, request_id, "curl"), environment)
    assert again != request_id
    assert tokens(events(page, base, again)) == tokens(events(page, base, request_id))


def test_python_makes_the_same_tokens(page: Page, base: str, request_id: str, environment: dict[str, str]) -> None:
    text = copied(page, base, request_id, "Python")
    run(environment, sys.executable, "-", text=text)
    again = newest(page, base)
    assert tokens(events(page, base, again)) == tokens(events(page, base, request_id))


def test_a_message_of_anthropics_form_has_the_same_prompt(page: Page, base: str, environment: dict[str, str]) -> None:
    kept = {"type": "ephemeral", "ttl": "1h"}
    tool = {"name": "look", "description": 'Looks\nat "it".', "input_schema": {"type": "object", "9": 1, "8": 2}}
    body = {
        "model": "smollm2-135m-instruct",
        "max_tokens": 8,
        "temperature": 0,
        "system": [{"type": "text", "text": "You are a guide. " * 12, "cache_control": kept}],
        "tools": [tool],
        "tool_choice": {"type": "none"},
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"a": "é"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "A door."}]},
        ],
    }
    key = environment["SIGHTGLASS_API_KEY"]
    made = page.request.post(f"{base}/v1/messages", headers={"x-api-key": key}, data=body)
    first = made.headers["sightglass-trace"].rpartition("/")[2]
    again = traced(copied(page, base, first, "curl"), environment)
    before, after = events(page, base, first), events(page, base, again)
    assert tokens(before) == tokens(after)
    marks = [next(each["marks"] for each in found if each["type"] == "cache.looked_up") for found in (before, after)]
    assert marks[0] == marks[1] != []


MODEL = "smollm2-135m-instruct"
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLS: dict[str, dict[str, Any]] = {
    "chat/completions": {
        "model": MODEL,
        "messages": [
            {"role": "user", "content": 'It\'s "$HOME" `id` !! \\ \u202e'},
            {"role": "assistant", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "A door."},
        ],
        "tools": [LOOK],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "max_tokens": 40,
        "top_k": 4,
    },
    "completions": {"model": MODEL, "prompt": "A river", "max_tokens": 4, "seed": 5},
    "responses": {"model": MODEL, "input": "Name a river!", "max_output_tokens": 16, "store": False},
    "embeddings": {"model": "all-minilm-l6-v2", "input": ["A river!", "A lake."]},
    "messages": {
        "model": MODEL,
        "max_tokens": 8,
        "stream": True,
        "messages": [{"role": "user", "content": "Name a river!"}],
    },
}


def sent(page: Page, base: str, request_id: str) -> tuple[str, Any]:
    call = events(page, base, request_id)[0]["sent"]
    return call["path"], json.loads(call["body"])


@pytest.mark.parametrize("end", CALLS)
def test_a_clients_call_is_sent_exactly_again(page: Page, base: str, environment: dict[str, str], end: str) -> None:
    key, path = environment["SIGHTGLASS_API_KEY"], f"/record/copied/v1/{end}"
    made = page.request.post(f"{base}{path}", headers={"x-api-key": key}, data=CALLS[end])
    first = made.headers["sightglass-trace"].rpartition("/")[2]
    assert sent(page, base, first) == (path, CALLS[end])
    panel = "Embedding" if end == "embeddings" else "Context"
    again = traced(copied(page, base, first, "curl", panel), environment)
    assert sent(page, base, again) == (path, CALLS[end])
    run(environment, sys.executable, "-", text=copied(page, base, first, "Python", panel))
    defaults = {"encoding_format": "float"} if end == "embeddings" else {}
    assert sent(page, base, newest(page, base)) == (path, CALLS[end] | defaults)


def test_a_setting_that_the_api_lacks_runs_the_saved_request(
    page: Page, base: str, environment: dict[str, str]
) -> None:
    conversation = post(page, base, "/api/conversations", {})["id"]
    body = {"text": "Say a word.", "params": {"regex": "[a-z]{2,9}", "seed": 3}}
    sent = post(page, base, f"/api/conversations/{conversation}/messages", body)
    first = sent["assistant_message"]["request_id"]
    before = tokens(events(page, base, first))
    rerun = json.loads(run(environment, "sh", text=copied(page, base, first, "curl").replace("curl ", "curl -sSf ", 1)))
    visit(page, f"{base}/reruns/{rerun['id']}")
    expect(page.get_by_text("1 of 1").or_(page.get_by_text("done")).first).to_be_visible()
    runs = page.request.get(f"{base}/api/reruns/{rerun['id']}").json()["runs"]
    assert tokens(events(page, base, runs[0]["request"]["id"])) == before
