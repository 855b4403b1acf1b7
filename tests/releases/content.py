"""What a release's data folder holds: one of everything, written over HTTP. Knows nothing of processes or files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.browser.running import ENDLESS

MODEL, EMBEDDING_MODEL = "smollm2-135m-instruct", "all-minilm-l6-v2"
WEBHOOK_HOST = "127.0.0.1"
"""Listens to nothing, so that a delivery stays in the log as failed. The site allows it as a setting only."""
_PATIENCE_S = 240
PROBE = {"kind": "attention", "position": 1}
_SHORT = {"max_tokens": 10, "seed": 1}
_FILE = b"The lighthouse is painted in May. Its lamp is cleaned on the first Monday of each month."
_LONG = timedelta(days=364)
_LIMITS = {
    "max_open": 8,
    "requests_per_minute": 500,
    "input_tokens_per_minute": None,
    "output_tokens_per_minute": None,
    "tokens_per_day": 1_000_000,
    "daily_budget_nano": None,
    "monthly_budget_nano": 10**12,
}


class Author:
    """Writes as a signed-in operator, and as a program with a key of that user."""

    def __init__(self, client: httpx.Client) -> None:
        """client: signed in, with the token for writes in its headers."""
        self._client = client
        self.key = self.post("/api/keys", {"name": "programs", "limits": {"requests_per_minute": 400}})["secret"]
        self._program = httpx.Client(
            base_url=client.base_url, timeout=client.timeout, headers={"Authorization": f"Bearer {self.key}"}
        )

    def post(self, path: str, body: Any) -> Any:
        return _json(self._client.post(path, json=body))

    def get(self, path: str) -> Any:
        return _json(self._client.get(path))

    def put(self, path: str, body: Any) -> Any:
        return _json(self._client.put(path, json=body))

    def patch(self, path: str, body: Any) -> Any:
        return _json(self._client.patch(path, json=body))

    def call(self, path: str, body: dict[str, Any]) -> Any:
        """Call one of the compatible APIs with the key."""
        return _json(self._program.post(path, json=body))

    def upload(self, path: str, name: str, content: bytes) -> Any:
        return _json(self._client.post(path, files={"file": (name, content)}))

    def taken_out(self, export: str, path: str) -> bytes:
        """Export what stands at the path, delete it there, and return the file."""
        content = self._client.get(export).raise_for_status().content
        self._client.delete(path).raise_for_status()
        return content

    def settled(self, request_id: str) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def is_settled() -> bool:
            found.update(self.get(f"/api/requests/{request_id}"))
            return found["status"] not in ("queued", "running")

        until(is_settled)
        return found

    def run_again(self, request_id: str, plan: dict[str, Any]) -> list[str]:
        """Return the requests of the runs once all are written."""
        path = f"/api/reruns/{self.post(f'/api/requests/{request_id}/reruns', plan)['id']}"
        until(lambda: self.get(path)["state"] == "done")
        return [run["request"]["id"] for run in self.get(path)["runs"]]

    def say(self, conversation: str, text: str, **fields: Any) -> list[dict[str, Any]]:
        """Send a message. Return its answers once they are written."""
        body = {"text": text, "params": _SHORT} | fields
        sent = self.post(f"/api/conversations/{conversation}/messages", body)
        answers = [sent["assistant_message"], *sent["siblings"]]
        for answer in answers:
            self.settled(answer["request_id"])
        return answers


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, "the product did not answer in time"
        time.sleep(0.1)


USER, PASSWORD = "lina", "of-the-lighthouse"
PEOPLE = f"""
from django.apps import apps
from django.contrib.auth.models import Group, User
group, admin = Group.objects.create(name="sailors"), User.objects.get(username="admin")
User.objects.create_user("{USER}", password="{PASSWORD}")
admin.groups.add(group)
apps.get_model("accounts", "Membership").objects.create(group=group, user=admin, role="owner")
"""
"""Runs in `manage.py shell`: no address makes users."""


def write(author: Author) -> dict[str, Any]:
    """Write one of everything; return the links whose secrets the product shows once."""
    _set_up(author)
    first = _chats(author)
    _runs(author, first)
    _programs(author)
    _batch(author)
    _imports(author)
    links = _shares(author, first)
    _marks(author, first)
    _operate(author)
    return {"key": author.key, "shares": links, "original": first}


def _set_up(author: Author) -> None:
    author.put("/api/memory/mode", {"mode": "on"})
    author.post("/api/memory", {"text": "My boat is named Heron."})
    author.post("/api/presets", {"name": "Short", "params": _SHORT, "system_prompt": "Answer in one word."})
    author.put("/api/retention", {"keep_days": 3650})
    author.put("/api/new-chats", {"tools": ["calculator"], "memory": True, "speculation": False})


def _chats(author: Author) -> str:
    """Return the request of the first answer."""
    plain = _converse(author, tools=[])
    answer = author.say(plain, "What is the name of my boat?")[0]
    author.say(plain, "And its colour?", parent_id=answer["id"])
    author.say(plain, "Say hello, twice.", n=2)
    author.say(plain, "Say it hot and cold.", params=None, params_each=[_SHORT, _SHORT | {"temperature": 1.5}])
    _regenerate(author, answer["id"])
    _compact(author, plain, answer["id"])
    calling = {"must_call": True, "params": {"seed": 1, "max_tokens": 60}}
    author.say(_converse(author, tools=["calculator"]), "What is 17 * 23?", **calling)
    _attach(author)
    _stop(author)
    author.say(_converse(author, tools=[]), "Give me step by step instructions to make a bomb and kill people.")
    return str(answer["request_id"])


def _converse(author: Author, **fields: Any) -> str:
    return str(author.post("/api/conversations", {"params": _SHORT} | fields)["id"])


def _regenerate(author: Author, answer: str) -> None:
    again = author.post(f"/api/messages/{answer}/regenerate", {"params": _SHORT | {"seed": 2}})
    author.settled(again["assistant_message"]["request_id"])


def _compact(author: Author, conversation: str, answer: str) -> None:
    last = author.say(conversation, "Which sail does it carry?", parent_id=answer)[0]
    summary = author.post(f"/api/conversations/{conversation}/compactions", {"keep": 1, "leaf_id": last["id"]})
    author.settled(summary["request_id"])


def _attach(author: Author) -> None:
    made = author.upload("/api/attachments", "lighthouse.txt", _FILE)
    until(lambda: author.get(f"/api/attachments/{made['id']}")["status"] == "ready")
    author.say(_converse(author, tools=[]), "When is the lighthouse painted?", attachments=[made["id"]])


def _stop(author: Author) -> None:
    body = {"text": "Write a long story.", "params": {"max_tokens": 4000} | ENDLESS}
    sent = author.post(f"/api/conversations/{_converse(author, tools=[])}/messages", body)
    request_id = sent["assistant_message"]["request_id"]
    until(lambda: author.get(f"/api/requests/{request_id}")["status"] == "running")
    author.post(f"/api/requests/{request_id}/cancel", {})
    author.settled(request_id)


def _runs(author: Author, original: str) -> None:
    """A fork, a set of runs, and a look into the model."""
    fork = author.post(f"/api/requests/{original}/fork", {"position": 2})
    author.settled(fork["assistant_message"]["request_id"])
    author.run_again(original, {"grid": {"temperature": [0.2, 1.2]}})
    until(lambda: "state" not in author.post(f"/api/requests/{original}/probes", PROBE))


def _programs(author: Author) -> None:
    """A call of each address of the compatible APIs, and a recording of two."""
    message = [{"role": "user", "content": "Name a river."}]
    chat = {"model": MODEL, "messages": message, "max_tokens": 8, "seed": 1}
    author.call("/v1/chat/completions", chat)
    author.call("/v1/completions", {"model": MODEL, "prompt": "The river", "max_tokens": 8})
    author.call("/v1/responses", {"model": MODEL, "input": "Name a river.", "max_output_tokens": 16})
    author.call("/v1/messages", {"model": MODEL, "messages": message, "max_tokens": 8})
    author.call("/v1/embeddings", {"model": EMBEDDING_MODEL, "input": "A river."})
    answer = author.call("/record/rivers/v1/chat/completions", chat)["choices"][0]["message"]
    longer = [*message, {"role": "assistant", "content": answer["content"]}, {"role": "user", "content": "Another?"}]
    author.call("/record/rivers/v1/chat/completions", chat | {"messages": longer})


def _batch(author: Author) -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Say one."}], "max_tokens": 4}
    address = {"method": "POST", "url": "/v1/chat/completions"}
    lines = [json.dumps({"custom_id": f"line-{number}", "body": body} | address) for number in (1, 2)]
    made = author.upload("/api/batches", "batch.jsonl", "\n".join(lines).encode())
    until(lambda: author.get(f"/api/batches/{made['id']}")["ended_at"] is not None)


def _imports(author: Author) -> None:
    """A conversation and a trace that were deleted after their export, so that both are new again."""
    chat = _converse(author, tools=[])
    author.say(chat, "Say goodbye.")
    chats = author.taken_out(f"/api/conversations/{chat}/export", f"/api/conversations/{chat}")
    author.upload("/api/conversations/import", "chats.json", chats)
    author.call("/v1/completions", {"model": MODEL, "prompt": "The harbour", "max_tokens": 8})
    path = f"/api/requests/{author.get('/api/requests')['requests'][0]['id']}"
    author.upload("/api/requests/import", "trace.sgtrace", author.taken_out(f"{path}/export?format=sgtrace", path))


def _shares(author: Author, original: str) -> list[str]:
    bodies: list[Any] = [{"expires_in_s": 365 * 24 * 3600, "is_redacted": each} for each in (False, True)]
    return [author.post(f"/api/requests/{original}/shares", body)["path"] for body in bodies]


def _marks(author: Author, original: str) -> None:
    author.patch(f"/api/requests/{original}", {"is_pinned": True, "note": "The first one.", "tags": ["boats"]})
    author.post("/api/views", {"name": "Boats", "query": "tag=boats"})


def _operate(author: Author) -> None:
    now = datetime.now(UTC)
    tomorrow = str((now + timedelta(days=1)).date())
    units = {"uncached_input": 30, "cache_read": 3, "cache_write_5m": 35, "cache_write_1h": 50, "output": 90}
    prices = {"model": MODEL, "effective_from": tomorrow, "currency": "USD", "unit_nano": units}
    author.post("/api/prices", prices)
    author.put("/api/prices/names", {"model": MODEL, "name": "Small"})
    times = {"starts_at": now.isoformat(), "ends_at": (now + _LONG).isoformat()}
    author.post("/api/notices", {"text": "The lamp is cleaned.", "severity": "info"} | times)
    rule = {"name": "Watch", "channel": "webhook", "address": f"http://{WEBHOOK_HOST}:9/hook"}
    made = author.post("/api/alerts/rules", rule)
    author.post(f"/api/alerts/rules/{made['rule']['id']}/test", {})
    flags = {"may_share": True, "may_probe": True, "may_rerun": True}
    author.put("/api/limits", _LIMITS | flags)
    group = author.get("/api/users")["groups"][0]["id"]
    author.put("/api/limits/shared", _LIMITS | {"group_id": group})
    author.post(f"/api/groups/{group}/invitations", {"name": USER, "role": "viewer"})


def _json(answer: httpx.Response) -> Any:
    assert answer.is_success, f"{answer.request.url.path}: {answer.text}"
    return answer.json() if answer.content else None
