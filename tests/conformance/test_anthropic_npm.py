"""The official npm package `@anthropic-ai/sdk`, run by Node, against the running product and its real model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import MODEL, Access
from tests.faults.conftest import ROOT, Processes

sys.path.insert(0, str(ROOT / "scripts"))

from bootstrap import node_environment

SCRIPT = Path(__file__).parent / "anthropic_npm.mjs"
Run = Callable[[str], Any]


@pytest.fixture
def run(access: Access) -> Run:
    """Runs one function of the script. Node finds the package from the page's folder, where it is installed."""

    def found(name: str) -> Any:
        environment = node_environment() | {"ACCESS": json.dumps(asdict(access) | {"model": MODEL}), "RUN": name}
        command = ["node", "--input-type=module"]
        ended = subprocess.run(
            command,
            input=SCRIPT.read_text("utf-8"),
            cwd=ROOT / "frontend",
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    return found


def test_create_answers(run: Run) -> None:
    message = run("create")
    assert (message["type"], message["content"][0]["type"]) == ("message", "text")
    assert (message["stop_reason"], message["usage"]["output_tokens"]) == ("max_tokens", 8)


def test_a_stream_gives_texts_and_the_final_message(run: Run) -> None:
    found = run("stream")
    assert found["text"] == found["message"]["content"][0]["text"]
    assert (found["events"][0], found["events"][-1]) == ("message_start", "message_stop")
    assert found["message"]["stop_reason"] in ("end_turn", "max_tokens")


def test_a_forced_tool_is_called_and_its_result_answered(run: Run) -> None:
    found = run("tool")
    (call,) = found["called"]["content"]
    assert (call["type"], call["name"], list(call["input"])) == ("tool_use", "weather", ["city"])
    assert found["called"]["stop_reason"] == "tool_use"
    assert found["answer"]["content"][0]["type"] == "text"


def test_a_refusal_has_its_class_and_its_id(run: Run) -> None:
    found = run("refused")
    assert (found["class"], found["status"], found["type"]) == ("NotFoundError", 404, "not_found_error")
    assert found["id"].startswith("req_")


def test_a_client_that_leaves_in_mid_stream_stops_its_answer(run: Run, site: Processes) -> None:
    request_id = run("left")["id"].replace("msg_", "req_", 1)
    found = site.settled(request_id)
    assert found["status"] == "stopped"
    assert 0 < found["usage"]["output"] < 4000


def test_tokens_are_counted(run: Run) -> None:
    assert run("count")["input_tokens"] > 10


def test_a_batch_is_run_and_its_results_are_read(run: Run) -> None:
    found = run("batch")
    assert found["results"] == {"good": "succeeded", "bad": "errored"}
    assert (found["counts"]["succeeded"], found["counts"]["errored"]) == (1, 1)
