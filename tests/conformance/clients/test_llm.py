"""The command `llm`, with the settings of the page Connect."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable

import pytest

from scripts.bootstrap import client_python
from tests.conformance.conftest import Access
from tests.conformance.test_snippets import text_of

Llm = Callable[..., str]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The command is found, and its keys, settings and logs are in a folder of its own."""
    scripts = client_python("others").parent
    return os.environ | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "LLM_USER_PATH": str(tmp_path_factory.mktemp("llm")),
    }


@pytest.fixture(scope="module")
def llm(access: Access, environment: dict[str, str]) -> Llm:
    """Runs the command, once the page's text has set it up."""
    _, install, rest = text_of("llm", access).partition("pip install llm\n")
    assert install, "the first line installs the command, which is installed here"
    *set_up, first = rest.strip().rsplit("\n", 1)
    sh(set_up[0], environment)
    assert sh(first, environment).strip(), "its words are drawn, so any will do"

    command = ["llm", "prompt", "-m", "sightglass", "-o", "temperature", "0"]
    return lambda *arguments: heard([*command, *arguments], environment)


def sh(text: str, environment: dict[str, str]) -> str:
    return heard(["sh", "-c", text], environment)


def heard(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_streamed_answer(llm: Llm) -> None:
    assert llm("What is the capital of France?").strip()


def test_an_answer_in_one_piece(llm: Llm) -> None:
    asked = "What is the capital of France?"
    assert llm(asked, "--no-stream") == llm(asked)


def test_a_conversation_goes_on(llm: Llm, environment: dict[str, str]) -> None:
    llm("What is the capital of France?")
    assert llm("--continue", "And of Spain?").strip()
    first, second = json.loads(heard(["llm", "logs", "list", "-n", "2", "--json"], environment))
    assert first["conversation_id"] == second["conversation_id"]
    assert second["input_tokens"] > first["input_tokens"] + first["output_tokens"]


def test_a_system_prompt_and_the_usage(llm: Llm, environment: dict[str, str]) -> None:
    llm("--system", "Be brief.", "What is the capital of France?")
    logged = sh("llm logs list -n 1 --usage", environment)
    assert "Be brief." in logged and "input" in logged
