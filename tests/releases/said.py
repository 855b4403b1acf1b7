"""What a product says of its content over HTTP, without what time changes. Knows nothing of who wrote it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx

_REQUEST = (
    "id status surface model title created_at usage cost_nano currency finish_reason num_events duration_us"
    " first_token_us first_text_us is_imported forked_from fork_position num_kept conversation_id message_id rerun_id"
    " batch_id seed"
)
_CONVERSATION = "id title model system_prompt params tools memory speculation window_policy leaf_id is_pinned"
_MESSAGE = "id parent_id role text request_id status files calls forked_from is_imported"
_LISTS = (
    ("/api/keys", "keys", "id name prefix models features state limits created_at"),
    ("/api/memory", "memories", "id text is_enabled created_at"),
    ("/api/presets", "presets", "id name params system_prompt n"),
    ("/api/shares", "shares", "id request_id title is_redacted created_at"),
    ("/api/attachments", "attachments", "id name sha256 status num_tokens num_passages conversation_id"),
    ("/api/batches", "batches", "id endpoint models status counts costs is_of_sign_in ended_at"),
    ("/api/recordings", "recordings", "id name num_turns last_at"),
    ("/api/views", "views", "id name query"),
    ("/api/audit", "entries", "id at actor action subject changes"),
    ("/api/notices/all", "notices", "id text severity starts_at ends_at"),
    ("/api/alerts", "rules", "id name channel address kinds least_severity is_enabled"),
    ("/api/alerts", "deliveries", "id rule_name title is_test status created_at"),
    ("/api/usage/groups", "groups", "id name num_users role"),
)
"""Address, the list in its answer, and the fields that stay as they are."""
_WHOLE = ("/api/limits/shared", "/api/new-chats", "/api/requests/tags")


def said(client: httpx.Client) -> dict[str, Any]:
    """Each row stands under its id, so that later rows change nothing."""
    rows = {name: _rows(_get(client, path)[name], fields) for path, name, fields in _LISTS}
    requests = {each["id"]: _of_request(client, each["id"]) for each in list_requests(client)}
    days = sorted(each["created_at"][:10] for each in requests.values() if not each["is_imported"])
    return rows | {
        "requests": requests,
        "conversations": {id: _of_conversation(client, id) for id in _conversations(client)},
        "prices": {each["model"]: _prices(each["spans"]) for each in _get(client, "/api/prices")["models"]},
        "people": _get(client, "/api/groups/1/people"),
        "usage": usage(client, days[0], days[-1]),
        **{path: _get(client, path) for path in _WHOLE},
    }


def usage(client: httpx.Client, first: str, last: str) -> dict[str, Any]:
    """Return the sums of the days, and the days themselves."""
    report = _get(client, f"/api/usage?first={first}&last={last}&by=surface")
    return {"first": first, "last": last, "sums": report["now"]}


def list_requests(client: httpx.Client) -> list[dict[str, Any]]:
    """All requests of the library, page by page."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while cursor is not None:
        page = _get(client, f"/api/requests?cursor={cursor}")
        found += page["requests"]
        cursor = page["next_cursor"]
    return found


def trace(client: httpx.Client, request_id: str) -> dict[str, Any]:
    """What the saved trace tells: how many events of each type, and the text."""
    frames = _get(client, f"/api/requests/{request_id}/export?format=json")["trace"]["frames"]
    events = [event for frame in frames for event in frame["events"]]
    text = "".join(event["text"] for event in events if event["type"] == "text.released")
    return {"types": dict(sorted(Counter(event["type"] for event in events).items())), "text": text}


def _of_request(client: httpx.Client, request_id: str) -> dict[str, Any]:
    row = _get(client, f"/api/requests/{request_id}")
    ledger = client.get(f"/api/requests/{request_id}/ledger")
    bill = ledger.json() if ledger.is_success else None
    return _only(row, _REQUEST) | {"bill": bill, "trace": trace(client, request_id)}


def _conversations(client: httpx.Client) -> list[str]:
    return [each["id"] for each in _get(client, "/api/conversations")["conversations"]]


def _of_conversation(client: httpx.Client, conversation_id: str) -> dict[str, Any]:
    found = _get(client, f"/api/conversations/{conversation_id}")
    messages = {each["id"]: _only(each, _MESSAGE) for each in found["messages"]}
    return _only(found, _CONVERSATION) | {"messages": messages}


def _prices(spans: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["first"]: [each["currency"], each["unit_nano"]] for each in spans}


def _rows(rows: list[dict[str, Any]], fields: str) -> dict[str, Any]:
    return {str(row["id"]): _only(row, fields) for row in rows}


def _only(row: dict[str, Any], fields: str) -> dict[str, Any]:
    return {name: row[name] for name in fields.split()}


def _get(client: httpx.Client, path: str) -> Any:
    answer = client.get(path)
    assert answer.is_success, f"{path}: {answer.text}"
    return answer.json()
