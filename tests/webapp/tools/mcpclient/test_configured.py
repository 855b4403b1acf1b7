"""The operator's file of MCP servers says which servers there are, or is refused with the server and the member."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from webapp.environment import ROOT
from webapp.tools.mcpclient.configured import ConfigError, Server, parsed, servers

FILES = {"command": "npx", "args": ["-y", "files"], "env": {"KEY": "my-secret-key"}}
ISSUES = {
    "type": "http",
    "url": "https://mcp.example.org/v1?key=my-secret-query",
    "headers": {"X-Key": "Bearer abcdefgh"},
}


def test_programs_and_addresses_are_servers() -> None:
    found = parsed({"mcpServers": {"files": FILES, "my_issues": ISSUES}})
    assert found["files"] == Server("files", command=("npx", "-y", "files"), env={"KEY": "my-secret-key"})
    assert (found["my_issues"].url, found["my_issues"].shown) == (ISSUES["url"], "https://mcp.example.org")


def test_without_a_file_there_is_none(settings: LazySettings) -> None:
    assert settings.ENVIRONMENT.mcp_config is None and servers() == {}


def test_no_secret_is_in_what_is_printed_or_shown() -> None:
    for each in parsed({"mcpServers": {"files": FILES, "issues": ISSUES}}).values():
        assert not any(secret in f"{each!r}{each.shown}" for secret in ("my-secret", "abcdefgh"))


def test_secrets_are_taken_out_of_texts() -> None:
    files, issues = parsed({"mcpServers": {"files": FILES, "issues": ISSUES}}).values()
    assert files.without_secrets("KEY is my-secret-key.") == "KEY is ***."
    assert issues.without_secrets("abcdefgh, my-secret-query") == "***, ***"


def test_secrets_of_an_address_are_taken_out_in_both_forms() -> None:
    url = "https://mcp.example.org/v1?key=my%2Dsecret%2Dquery&a%20bare%20secret"
    (server,) = parsed({"mcpServers": {"issues": {"url": url}}}).values()
    said = "my%2Dsecret%2Dquery my-secret-query a%20bare%20secret a bare secret"
    assert server.without_secrets(said) == "*** *** *** ***"


def test_secrets_are_taken_out_of_the_texts_of_a_value_alone() -> None:
    server = Server("a", command=("x",), env={"PORT": "12345678", "KEY": 'my "quoted" secret'})
    value = {"12345678": [12345678, 1234567.8, True, None, "is 12345678"], "a": {"b": 'my "quoted" secret'}}
    told = {"12345678": [12345678, 1234567.8, True, None, "is ***"], "a": {"b": "***"}}
    assert server.without_secrets_in(value) == told


@pytest.mark.parametrize(
    ("name", "members", "words"),
    [
        ("a__b", FILES, "needs a name"),
        ("a_", FILES, "needs a name"),
        ("_a", FILES, "needs a name"),
        ("", FILES, "needs a name"),
        ("a" * 41, FILES, "needs a name"),
        ("a\x00", FILES, "needs a name"),
        ("é", FILES, "needs a name"),
        ("a", [], "needs either a command or a url"),
        ("a", {}, "needs either a command or a url"),
        ("a", {"command": "x", "url": "http://x"}, "needs either a command or a url"),
        ("a", FILES | {"cwd": "/"}, "'cwd'"),
        ("a", FILES | {"headers": {}}, "'headers'"),
        ("a", ISSUES | {"args": []}, "'args'"),
        ("a", FILES | {"type": "http"}, "use stdio"),
        ("a", ISSUES | {"type": "sse"}, "use http or streamable-http"),
        ("a", ISSUES | {"type": []}, "use http or streamable-http"),
        ("a", {"command": ""}, "a command that is no text"),
        ("a", {"command": 1}, "a command that is no text"),
        ("a", {"command": "x\x00"}, "a command that is no text"),
        ("a", FILES | {"args": "x"}, "args"),
        ("a", FILES | {"args": [1]}, "args"),
        ("a", FILES | {"env": {"A": 1}}, "env"),
        ("a", FILES | {"env": {"A=B": "x"}}, "'A=B' in its env"),
        ("a", {"url": "ftp://x"}, "a url"),
        ("a", {"url": "http://user:my-secret@host"}, "a url"),
        ("a", {"url": "http://host:99999/"}, "a url"),
        ("a", {"url": "http://ho st/"}, "a url"),
        ("a", ISSUES | {"headers": {"A B": "x"}}, "'A B' in its headers"),
        ("a", ISSUES | {"headers": {"A": "my-secret\r\nB: x"}}, "headers"),
        ("a", ISSUES | {"headers": ["my-secret"]}, "headers"),
    ],
)
def test_a_mistake_is_named_with_its_server_and_without_its_value(name: str, members: Any, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parsed({"mcpServers": {"good": FILES, name: members}})
    assert words in str(refused.value) and repr(name)[:60] in str(refused.value)
    assert "my-secret" not in str(refused.value)


@pytest.mark.parametrize("content", [[], {}, {"mcpServers": []}, {"mcpServers": {}, "more": 1}, "x", None])
def test_another_form_is_refused(content: Any) -> None:
    with pytest.raises(ConfigError, match="its form is"):
        parsed(content)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"mcpServers": {\n,}}', "line 2, character 1: a name in double quotes"),
        (b"\xff", "no JSON in UTF-8"),
        (b'{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "'a' twice"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, settings: LazySettings, text: bytes, words: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(text)
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, mcp_config=path)
    with pytest.raises(ConfigError, match=words):
        servers()


def test_a_process_does_not_start_with_a_wrong_file(tmp_path: Path) -> None:
    env = os.environ | {"SIGHTGLASS_MCP_CONFIG": str(tmp_path / "none.json")}
    run = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert run.returncode != 0
    assert run.stderr.strip().startswith("sightglass: SIGHTGLASS_MCP_CONFIG cannot be used:")
    assert "none.json cannot be read" in run.stderr and len(run.stderr.splitlines()) == 1
