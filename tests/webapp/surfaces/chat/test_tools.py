"""A conversation's answers may call the tools that it names, and later turns read what they gave."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from inference.protocol.request import SamplingParams
from inference.protocol.tool_calls import written
from webapp.requests.models import Request
from webapp.tools import catalog

pytestmark = pytest.mark.django_db(transaction=True)

CALL = written("calculator", '{"expression": "17 * 23"}')


@pytest.fixture
def alice(redis_client: object) -> Client:
    client = Client()
    client.force_login(User.objects.create_user("alice"))
    return client


def called(by: Client, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
    response = by.generic(method, path, json.dumps(body), content_type="application/json")
    return response.status_code, response.json()


def begin(by: Client, **settings: object) -> str:
    return str(called(by, "POST", "/api/conversations", settings)[1]["id"])


def send(by: Client, conversation: str, **more: object) -> tuple[Request, dict[str, Any]]:
    status, sent = called(by, "POST", f"/api/conversations/{conversation}/messages", {"text": "Hello", **more})
    assert status == 201, sent
    return Request.objects.get(pk=sent["assistant_message"]["request_id"]), sent


def test_a_conversation_begins_without_tools_and_may_be_given_some(alice: Client) -> None:
    conversation = begin(alice)
    request, _ = send(alice, conversation)
    assert request.input.features == () and msgspec.convert(request.params, SamplingParams).tool_calls is None
    change = {"tools": ["convert_units", "calculator", "calculator"]}
    status, changed = called(alice, "PATCH", f"/api/conversations/{conversation}", change)
    assert (status, changed["tools"]) == (200, ["convert_units", "calculator"])


def test_a_message_declares_its_tools_after_the_system_prompt(alice: Client) -> None:
    conversation = begin(alice, system_prompt="Be brief.", tools=["calculator"])
    request, _ = send(alice, conversation, must_call=True)
    calls = msgspec.convert(request.params, SamplingParams).tool_calls
    assert calls is not None and calls.is_required and [tool.name for tool in calls.tools] == ["calculator"]
    assert request.input.features == ("tool:calculator",)
    system, tools, question = request.input.messages
    assert (system.kind, tools.kind, tools.breakpoint, question.kind) == ("system", "tools", "5m", "user")
    assert '"calculator"' in tools.content and question.content == "Hello"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("", {"tools": ["calculator", "shell"]}, "tools"),
        ("/messages", {"text": "Hello", "must_call": True}, "must_call"),
        ("/messages", {"text": "Hello", "params": {"tool_calls": {"tools": [{"name": "a"}]}}}, "params.tool_calls"),
    ],
)
def test_what_cannot_be_called_is_refused_by_name(alice: Client, path: str, body: dict[str, Any], field: str) -> None:
    conversation = begin(alice) if path else ""
    status, refused = called(alice, "POST", f"/api/conversations{'/' if path else ''}{conversation}{path}", body)
    assert status == 400 and refused["error"]["field"] == field
    assert "calculator" in refused["error"]["message"] or "tool" in refused["error"]["message"]


def test_a_form_by_regex_and_tools_exclude_each_other(alice: Client) -> None:
    conversation = begin(alice, tools=["calculator"])
    body = {"text": "Hello", "params": {"regex": "[0-9]+"}}
    status, refused = called(alice, "POST", f"/api/conversations/{conversation}/messages", body)
    assert (status, refused["error"]["field"]) == (400, "params.regex")


def test_the_next_turn_reads_the_calls_and_their_results(alice: Client) -> None:
    conversation = begin(alice, tools=["calculator"])
    first, sent = send(alice, conversation)
    call = {"name": "calculator", "arguments": '{"expression": "17 * 23"}', "result": "391", "is_error": False}
    Request.objects.filter(pk=first.pk).update(
        status="done",
        finished_at=timezone.now(),
        output_text=f"{CALL}It is 391.",
        rounds=[{"text": CALL, "calls": [call]}],
    )
    answer = sent["assistant_message"]["id"]
    second, _ = send(alice, conversation, parent_id=answer)
    *_, question, asked, result, said, _ = second.input.messages
    assert [question.role, asked.role, result.role, said.role] == ["user", "assistant", "user", "assistant"]
    assert (asked.content, said.content) == (CALL, "It is 391.")
    assert (result.kind, result.content) == ("result", "<tool_response>\n391\n</tool_response>")
    shown = called(alice, "GET", f"/api/conversations/{conversation}")[1]["messages"]
    assert next(each["calls"] for each in shown if each["id"] == answer) == [call]


def test_the_tools_are_listed_for_a_signed_in_user_alone(alice: Client) -> None:
    listed = alice.get("/api/tools").json()["tools"]
    assert [tool["name"] for tool in listed] == [name for name in catalog.TOOLS if name != "fetch"]
    assert all(json.loads(tool["parameters"])["type"] == "object" for tool in listed)
    assert Client().get("/api/tools").status_code == 401


def lacking(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    monkeypatch.setitem(catalog.TOOLS, "python", replace(catalog.TOOLS["python"], lacks=lambda: reason))


def test_a_tool_that_the_server_cannot_run_is_listed_with_the_reason(
    alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking(monkeypatch, "the kernel has no filters")
    _, found = called(alice, "GET", "/api/tools")
    reasons = {tool["name"]: tool["unavailable"] for tool in found["tools"]}
    assert reasons["python"] == "the kernel has no filters" and reasons["calculator"] == ""
    status, refused = called(alice, "POST", "/api/conversations", {"tools": ["python"]})
    assert status == 400 and "the kernel has no filters" in refused["error"]["message"]


def test_a_tool_that_the_server_cannot_run_any_more_is_left_out(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch, "")
    conversation = begin(alice, tools=["python", "calculator"])
    lacking(monkeypatch, "the kernel has no filters")
    assert called(alice, "PATCH", f"/api/conversations/{conversation}", {"tools": ["python"]})[0] == 200
    request, _ = send(alice, conversation)
    assert request.input.features == () and msgspec.convert(request.params, SamplingParams).tool_calls is None


def test_a_message_tells_which_of_its_tools_must_be_approved(alice: Client) -> None:
    conversation = begin(alice, tools=["rename_conversation", "calculator"])
    features = send(alice, conversation)[0].input.features
    assert features == ("tool:calculator", "tool:rename_conversation", "approval:rename_conversation")
