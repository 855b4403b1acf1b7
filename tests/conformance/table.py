"""Runs the clients that others wrote, and writes what passed: `python -m tests.conformance.table`.

A row is a client and what it does. Knows nothing of the tests' content: their names are the words.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
CLIENTS = {
    "test_anthropic_python": "anthropic 2.12.0 (Python)",
    "test_anthropic_npm": "@anthropic-ai/sdk 1.12.0 (Node)",
    "test_anthropic_batches": "anthropic 2.12.0 (Python), batches",
    "test_mcp_python": "mcp 2.3.0 (Python), the server of traces",
    "test_snippets": "the texts of /connect",
    "test_recordings": "openai and anthropic (Python), through a recording's address",
    "openai.test_chat": "openai 3.54.0 (Python), chat completions",
    "openai.test_responses": "openai 3.54.0 (Python), responses",
    "openai.test_others": "openai 3.54.0 (Python), other operations",
    "openai.test_batches": "openai 3.54.0 (Python), files and batches",
    "openai.test_errors": "openai 3.54.0 (Python), refusals and faults",
    "openai.test_owners": "openai 3.54.0 (Python), keys and owners",
    "openai.test_npm": "openai 6.49.0 (Node)",
    "clients.test_llm": "llm 0.36, set up by the text of /connect",
    "clients.test_litellm": "LiteLLM 1.106.2, openai/ and anthropic/",
    "clients.test_agents": "openai-agents 0.24.0, chat completions and responses",
    "clients.test_langchain": "langchain-openai 1.7.3 (chat completions and responses), langchain-anthropic 1.7.7",
    "scripted.test_choosing": "openai and anthropic (Python), a scripted model that chooses among tools",
    "scripted.test_thinking": "openai and anthropic (Python), a scripted model that thinks in tags",
    "scripted.test_thinking_page": "Chromium on the chat page, a scripted model that thinks in tags",
    "scripted.test_agents_page": "Chromium on the chat page, a scripted model that delegates",
    "scripted.test_withheld": "httpx, WebSocket and the server's files, a scripted model that must not be heard",
    "scripted.test_leaks": "the search for withheld text",
    "test_schemathesis": "schemathesis 4.32.5, the OpenAPI document",
    "openai.test_bad_bodies": "httpx, broken bodies",
}
_HEAD = """# Conformance

Clients that others wrote run against the started product and its real model. `python -m tests.conformance.table` runs
them and writes this page. [The OpenAI-compatible API](openai.md) has the fields.

| client | what it did | cases | |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Case:
    """One test."""

    module: str
    words: str
    outcome: str


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "tests/conformance", f"--junitxml={report}"]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        PAGE.write_text(text_of(cases_of(report)), "utf-8")
    return status


def cases_of(report: Path) -> list[Case]:
    return [_case(each) for each in ElementTree.parse(report).iter("testcase")]


def _case(element: ElementTree.Element) -> Case:
    module = element.attrib["classname"].removeprefix("tests.conformance.")
    name = element.attrib["name"].partition("[")[0].removeprefix("test_").replace("_", " ")
    kinds = {child.tag for child in element}
    outcome = "skipped" if "skipped" in kinds else "failed" if kinds & {"failure", "error"} else "passed"
    return Case(module, name, outcome)


def text_of(cases: list[Case]) -> str:
    """Return the page: one line for each client and thing that it did."""
    lines = []
    for module, client in CLIENTS.items():
        own = [case for case in cases if case.module == module]
        for words in dict.fromkeys(case.words for case in own):
            outcomes = Counter(case.outcome for case in own if case.words == words)
            told = ", ".join(f"{num} {outcome}" if len(outcomes) > 1 else outcome for outcome, num in outcomes.items())
            lines.append(f"| {client} | {words} | {outcomes.total()} | {told} |")
    return _HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
