"""The started product and its processes, for the browser tests."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import APIResponse, Page

from tests.browser.commands import Commands
from tests.environment import share_database, share_made
from tests.processes import is_alive

ROOT = Path(__file__).parents[2]

ENDLESS = {"logit_bias": [{"id": token, "bias": -100} for token in (0, 2)], "stop_on_repetition": False}
"""Settings with which the bundled model writes as many tokens as it may: it never draws a token that ends an answer."""


def send(page: Page, base: str, path: str, body: object) -> APIResponse:
    """Post as the user who is signed in on the page."""
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": base, "Content-Type": "application/json"}
    return page.request.post(f"{base}{path}", headers=headers, data=json.dumps(body))


def post(page: Page, base: str, path: str, body: object) -> Any:
    """Post as the user who is signed in on the page; return the reply's JSON. Raises AssertionError where refused."""
    answer = send(page, base, path, body)
    assert answer.ok, answer.text()
    return answer.json()


class Running:
    """A started product."""

    def __init__(self, data: Path, port: int, **settings: str) -> None:
        self.data = data
        share_made(data)
        if "SIGHTGLASS_DATABASE_URL" not in settings:
            share_database(data)
        environment = os.environ | {"SIGHTGLASS_DATA": str(data), "PORT": str(port), **settings}
        environment.pop("SIGHTGLASS_REDIS_URL", None)
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.lines: list[str] = []
        self.link = ""
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.search(r"http://\S+/signin/\S+", line):
                self.link = found.group()
                break
        assert self.link, "".join(self.lines)
        self._commands = Commands(os.environ | {"SIGHTGLASS_DATA": str(data), **settings})
        self.look()

    def look(self) -> None:
        """Read anew which processes there are."""
        self.pids = descendants(self.process.pid)

    def sign_in(self, user: str) -> None:
        """Make `link` a new one, of this user."""
        self.link = self.manage("signin_link", "--user", user).strip()

    def manage(self, *command: str) -> str:
        """Run a command of `manage.py`; return what it printed."""
        return self._commands.run(*command)

    def children(self) -> dict[str, int]:
        """Process ids of what it started, by name."""
        marks = {
            "valkey": "redis",
            "inference.worker.app": "inference",
            "webapp worker": "lifecycle",
            "webapp.serve": "web",
        }
        return {name: pid for pid, command in self.pids.items() for mark, name in marks.items() if mark in command}

    def wait_until_all_gone(self) -> None:
        deadline = time.monotonic() + 120
        while left := [pid for pid in self.pids if is_alive(pid)]:
            assert time.monotonic() < deadline, left
            time.sleep(0.05)

    def end(self) -> None:
        self._commands.end()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(120)
        assert self.process.stdout is not None
        self.process.stdout.close()


def descendants(pid: int) -> dict[int, str]:
    """The commands of a process's children and theirs, without those that are ending."""
    commands = {}
    for found in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            commands[found.pid] = " ".join(found.cmdline())
    return commands
