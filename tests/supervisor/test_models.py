"""Two models in one product: a second one is added, answers beside the first, is drained, retired and deleted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from inference.tokenization.bundled import bundled_model
from tests.browser.running import Running, descendants
from tests.faults.conftest import until
from tests.inference.backends.llama_server import KEY as SERVER_KEY
from tests.inference.backends.llama_server import LlamaServer
from tests.ports import free_port
from tests.supervisor.test_restart import signed_in, signed_in_again, wait_until_settled
from tests.webapp.registered import CONFIGURED, tiny

KEY = "sk-a-key-that-nothing-tells"
LIMIT_S = 240


@pytest.fixture
def client(product: Running) -> Iterator[httpx.Client]:
    with closing(signed_in_again(product)) as found:
        yield found


def add(client: httpx.Client, model: str, **body: object) -> dict[str, Any]:
    """The row at the end of its check."""
    answer = client.post("/api/registry", json={"id": model} | body)
    assert answer.status_code == 201, answer.text
    return at_end_of_check(client, model)


def at_end_of_check(client: httpx.Client, model: str) -> dict[str, Any]:
    until(lambda: row_of(client, model)["state"] != "checking", LIMIT_S)
    return row_of(client, model)


def row_of(client: httpx.Client, model: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/registry/{model}").raise_for_status().json()
    return found


def change(client: httpx.Client, model: str, **body: object) -> dict[str, Any]:
    answer = client.patch(f"/api/registry/{model}", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def say(client: httpx.Client, conversation: str, text: str = "Say hello.") -> list[dict[str, Any]]:
    """The events of the answer."""
    sent = client.post(f"/api/conversations/{conversation}/messages", json={"text": text}).raise_for_status()
    request_id = sent.json()["assistant_message"]["request_id"]
    assert wait_until_settled(client, request_id)["status"] == "done"
    return events(client, request_id)


def events(client: httpx.Client, request_id: str) -> list[dict[str, Any]]:
    found = []
    with client.stream("GET", f"/api/requests/{request_id}/events") as lines:
        for line in lines.iter_lines():
            if line.startswith('data: {"seq"'):
                found += json.loads(line.removeprefix("data: "))["events"]
    return found


def converse(client: httpx.Client, model: str) -> str:
    body = {"model": model, "params": {"max_tokens": 8, "temperature": 0}}
    return str(client.post("/api/conversations", json=body).raise_for_status().json()["id"])


def workers_of(product: Running, model: str) -> dict[int, str]:
    """The commands of the worker processes that the product has for a model, by process id."""
    mark = f" model-{model}-"
    return {pid: command for pid, command in descendants(product.process.pid).items() if mark in command}


def test_a_model_goes_through_the_registry_from_its_check_to_its_end(
    product: Running, client: httpx.Client, tmp_path: Path
) -> None:
    row = add(client, "tiny", kind="gguf", path=str(tiny(tmp_path)))
    assert (row["state"], row["message"]) == ("enabled", "")
    assert row["num_ready_workers"] == 1 and row["first_token_ms"] > 0 and row["window"] == 256
    checked = events(client, row["check_request_id"])
    assert (checked[0]["surface"], checked[0]["model"]) == ("check", "tiny")
    assert "".join(event["text"] for event in checked if event["type"] == "text.released") == row["text"]

    workers: dict[str, set[str]] = {}
    chats = {model: converse(client, model) for model in ("tiny", CONFIGURED)}
    for _ in range(2):
        for model, conversation in chats.items():
            (begun,) = (event for event in say(client, conversation) if event["type"] == "generation.started")
            assert begun["model"] == model
            workers.setdefault(begun["worker"], set()).add(model)
    assert sorted(workers.values(), key=str) == [{CONFIGURED}, {"tiny"}]

    assert change(client, "tiny", state="drained")["num_ready_workers"] == 1
    refused = client.post(f"/api/conversations/{chats['tiny']}/messages", json={"text": "Hello"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "model_unavailable")
    assert client.delete("/api/registry/tiny").status_code == 409
    change(client, "tiny", state="retired")
    until(lambda: not workers_of(product, "tiny"), LIMIT_S)
    assert client.delete("/api/registry/tiny").status_code == 204

    client.patch(f"/api/conversations/{chats['tiny']}", json={"model": CONFIGURED}).raise_for_status()
    assert say(client, chats["tiny"])[0]["model"] == CONFIGURED
    shown = client.get(f"/api/conversations/{chats['tiny']}").json()["messages"]
    assert [message["status"] for message in shown if message["role"] == "assistant"] == ["done"] * 3


def test_a_model_that_cannot_work_fails_alone_and_tells_no_key(product: Running, client: httpx.Client) -> None:
    """The remote server is not there, so its worker cannot begin."""
    url = f"http://127.0.0.1:{free_port()}"
    row = add(client, "far", kind="remote", path=str(bundled_model()), url=url, key=KEY)
    assert row["state"] == "failed"
    assert f"The model's server at {url} cannot be reached" in row["message"]
    until(lambda: not workers_of(product, "far"), LIMIT_S)
    assert client.get("/readyz").status_code == 200
    assert say(client, converse(client, CONFIGURED))[-1]["type"] == "request.finished"

    assert client.post("/api/registry/far/check").status_code == 200
    with_key: set[int] = set()
    deadline = time.monotonic() + LIMIT_S
    while not with_key:  # its worker starts within two seconds, and ends again
        assert time.monotonic() < deadline
        own = workers_of(product, "far")
        with_key = {pid for pid in descendants(product.process.pid) if KEY in memory_of(pid)}
        assert with_key <= own.keys() | workers_of(product, "far").keys()
    at_end_of_check(client, "far")

    told = [client.get(path).text for path in ("/api/registry", "/api/session", "/api/audit", "/api/live")]
    assert KEY not in "".join(told)
    assert "(hidden)" in told[2]
    for file in [*(product.data / "logs").iterdir(), *(product.data / "redis").rglob("*")]:
        assert file.is_dir() or KEY.encode() not in file.read_bytes(), file


def test_a_remote_model_answers_by_its_key_which_nothing_tells(
    product: Running, client: httpx.Client, model_path: Path
) -> None:
    with closing_server(model_path) as server:
        row = add(client, "gpu", kind="remote", path=str(model_path), url=server.url, key=SERVER_KEY)
        assert (row["state"], row["message"], row["has_key"]) == ("enabled", "", True)
        answer = say(client, converse(client, "gpu"))
        (begun,) = (event for event in answer if event["type"] == "generation.started")
        assert begun["server"].startswith("llama.cpp")
        told = f"{answer}{events(client, row['check_request_id'])}{client.get('/api/live').text}"
        assert SERVER_KEY not in told

        change(client, "gpu", state="drained")
        assert change(client, "gpu", key="another")["state"] == "checking"
        row = at_end_of_check(client, "gpu")
        assert (row["state"], row["has_key"]) == ("failed", True)
        assert "401" in row["message"] and "another" not in row["message"]
    for log in (product.data / "logs").iterdir():
        assert SERVER_KEY.encode() not in log.read_bytes(), log


@contextmanager
def closing_server(path: Path) -> Iterator[LlamaServer]:
    server = LlamaServer(path)
    try:
        yield server
    finally:
        server.kill()


def memory_of(pid: int) -> str:
    """What other processes of this account can read of a process: its environment and its command."""
    try:
        process = psutil.Process(pid)
        return f"{process.environ()}{process.cmdline()}"
    except psutil.Error:
        return ""


def test_a_check_goes_on_after_the_whole_product_was_killed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    running = Running(data, free_port(), SIGHTGLASS_THREADS="1")
    with closing(signed_in(running)) as client:
        body = {"id": "second", "kind": "gguf", "path": str(bundled_model())}
        assert client.post("/api/registry", json=body).json()["state"] == "checking"
    running.process.kill()
    running.process.wait()
    running.wait_until_all_gone()
    running.end()

    running = Running(data, free_port(), SIGHTGLASS_THREADS="1")
    with closing(signed_in(running)) as client:
        assert at_end_of_check(client, "second")["state"] == "enabled"
        change(client, "second", is_default=True)
        assert say(client, converse(client, "second"))[0]["model"] == "second"
    running.end()
    running.wait_until_all_gone()
