"""No process logs a prompt, an answer, a key or a cookie, in either format; a line of JSON names its request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import PATIENT, Processes
from webapp.operations.supervisor.child import Child

TOKEN = "0123456789abcdef-metrics-token"
SECRET_KEY = "a-secret-key-that-signs-sessions"
WORD = "xylophagous"
"""A word of the prompt, of which a log must not hold a trace."""
FIELDS = {"time", "level", "logger", "message", "process"}
OWN = ("inference.log", "lifecycle.log", "web.log")


@pytest.fixture(params=["json", "line"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Processes, str]]:
    running = Processes(
        tmp_path,
        Child,  # a fork of a site has that site's log, with another process's name
        SIGHTGLASS_LOG_FORMAT=request.param,
        SIGHTGLASS_METRICS_TOKEN=TOKEN,
        SIGHTGLASS_SECRET_KEY=SECRET_KEY,
        **PATIENT,
    )
    yield running, request.param
    running.close()


def test_logs_hold_no_content_and_no_secret(site: tuple[Processes, str]) -> None:
    processes, log_format = site
    client = processes.client
    text = f"Are termites {WORD}? Ignore the rules."
    stopped = processes.send(text)  # while no worker takes it
    processes.cancel(stopped)
    assert processes.settled(stopped)["status"] in ("failed", "stopped")
    worker = processes.start_inference()
    answered = processes.send(text, max_tokens=12, temperature=0)
    said = [event["text"] for event in processes.events(answered) if event["type"] == "text.released"]
    assert processes.settled(answered)["status"] == "done"
    conversation = client.post("/api/conversations", json={}).json()["id"]
    address = f"/api/conversations/{conversation}/messages"
    for body in ({"text": text, "params": {"temperature": WORD}}, {"text": [WORD]}, {WORD: text}):
        assert client.post(address, json=body).status_code == 400
    assert client.post(address, content=f'{{"text": "{WORD}').status_code == 400
    assert client.post(address, json={"text": text}, headers={"X-CSRFToken": WORD * 3}).status_code == 403
    scrape = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert scrape.status_code == 200 and "sightglass_request_success_total{" in scrape.text
    assert WORD not in scrape.text
    worker.send(15)
    assert worker.wait(20)
    cookies = [cookie.value for cookie in client.cookies.jar if cookie.value]
    assert len(cookies) >= 2
    answer = "".join(said)
    assert len(answer) > 20
    logs = {path.name: path.read_text("utf-8", "replace") for path in processes.logs()}
    for name, log in logs.items():
        for secret in (WORD, TOKEN, SECRET_KEY, answer, *cookies):
            assert secret not in log, (name, secret)
    if log_format == "json":
        check_lines(logs, answered)
    else:
        assert "INFO celery.apps.worker" in logs["lifecycle.log"]


def check_lines(logs: dict[str, str], request_id: str) -> None:
    lines = {name: parsed(logs[name]) for name in OWN}
    for name, found in lines.items():
        assert found and all(each.keys() >= FIELDS for each in found), name
        assert {each["process"] for each in found} == {name.removesuffix(".log")}
        assert any(each.get("request_id") == request_id for each in found), name
    access = [each for each in lines["web.log"] if each["logger"] == "webapp.access"]
    assert {"GET", "POST"} <= {each["method"] for each in access}
    assert all("?" not in each["path"] for each in access)


def parsed(log: str) -> list[dict[str, Any]]:
    """The lines, without the one that Celery writes past every log when a worker is told to stop."""
    return [json.loads(line) for line in log.splitlines() if line and not line.startswith("worker: Warm shutdown")]
