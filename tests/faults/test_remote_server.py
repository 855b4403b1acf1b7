"""The whole product with llama.cpp's server behind its worker: answers, Stop, a server that dies or is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import PATIENT, Processes
from tests.inference.backends.llama_server import KEY, LlamaServer
from tests.ports import free_port


@pytest.fixture(scope="module")
def llama(model_path: Path) -> Iterator[LlamaServer]:
    server = LlamaServer(model_path)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def site(llama: LlamaServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    remote = {"SIGHTGLASS_BACKEND_URL": llama.url, "SIGHTGLASS_BACKEND_KEY": KEY}
    running = Processes(tmp_path_factory.mktemp("data"), **PATIENT, **remote)
    running.start_inference()
    yield running
    running.close()


def test_an_answer_is_streamed_billed_and_traced_without_the_key(site: Processes) -> None:
    request_id = site.send("Count from one to five.", temperature=0, max_tokens=16)
    events = list(site.events(request_id))
    summary = site.settled(request_id)
    tokens = [event for event in events if event["type"] == "token.sampled"]
    started = next(event for event in events if event["type"] == "generation.started")
    assert started["server"].startswith("llama.cpp b")
    assert (started["device"], started["compute"]) == (None, None)
    assert summary["status"] == "done"
    assert summary["usage"]["output"] == len(tokens) > 0
    assembled = next(event for event in events if event["type"] == "context.assembled")
    assert summary["usage"]["uncached_input"] == assembled["num_prompt_tokens"]
    assert site.ledger_total(request_id) == summary["cost_nano"] > 0
    saved = site.client.get(f"/api/requests/{request_id}/events").text
    assert tokens[0]["piece"] in saved
    assert KEY not in saved
    assert all(KEY not in path.read_text("utf-8", "replace") for path in site.logs())


def test_stop_and_stop_texts_end_an_answer(site: Processes, llama: LlamaServer) -> None:
    request_id = site.send("Write a long story about the sea.", max_tokens=300)
    for event in site.events(request_id):
        if event["type"] == "text.released":
            site.cancel(request_id)
            break
    assert site.settled(request_id)["status"] == "stopped"
    request_id = site.send("Write a long story about the sea.", max_tokens=300, stop=["e"])
    text = "".join(event["text"] for event in site.events(request_id) if event["type"] == "text.released")
    assert "e" not in text
    assert site.settled(request_id)["finish_reason"] == "stop"


def test_a_server_that_dies_in_the_middle_fails_the_request_by_name(site: Processes, llama: LlamaServer) -> None:
    """The last test of this file with the shared server: it ends it."""
    request_id = site.send("Write a long story about the sea.", max_tokens=300)
    for event in site.events(request_id):
        if event["type"] == "text.released":
            llama.kill()
    assert site.settled(request_id)["error"]["code"] == "server_failed"
    request_id = site.send("And now?")
    assert "cannot be reached" in site.settled(request_id)["error"]["message"]


def test_a_server_that_is_not_there_is_said_by_the_worker(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    lonely = Processes(tmp_path, SIGHTGLASS_BACKEND_URL=url, **PATIENT)
    lonely.start_inference(state="failed")
    assert url in lonely.workers()[0]["message"]
    request_id = lonely.send("Hello")
    assert lonely.settled(request_id)["error"]["code"] == "model_unavailable"
    lonely.close()
