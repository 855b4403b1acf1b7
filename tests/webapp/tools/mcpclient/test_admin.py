"""Operators with the permission read servers, approve tools and withdraw them among the admin's tables."""

from __future__ import annotations

import re

import pytest
import redis
from auditlog.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.webapp.lifecycle.test_dispatch import body
from tests.webapp.tools.mcpclient.conftest import Real, operator, wire
from webapp.tools.mcpclient.approvals import approved
from webapp.tools.mcpclient.tasks import read_each, read_task

pytestmark = pytest.mark.django_db(transaction=True)

SERVERS, TOOLS = "/admin/mcpclient/mcpserver/", "/admin/mcpclient/mcptool/"


@pytest.fixture
def root() -> Client:
    client = Client()
    client.force_login(operator())
    return client


def act(by: Client, path: str, action: str, *rows: str) -> int:
    return by.post(path, {"action": action, "_selected_action": rows}).status_code


def staff(*permissions: str) -> Client:
    user = User.objects.create_user("bert", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_a_server_is_read_by_the_worker_that_runs_calls(root: Client, remote: Real, redis_client: redis.Redis) -> None:
    remote.lists("echo", wire("a b"))
    assert "not read yet" in root.get(SERVERS).content.decode()
    assert act(root, SERVERS, "read_tools", "far") == 302
    assert body(redis_client, "tools") == ["far"]
    read_task("far")
    page = root.get(SERVERS).content.decode()
    assert "reached" in page and "&#x27;a b&#x27;: its name" in page and "sesame" not in page
    assert "far__echo" in root.get(TOOLS).content.decode()


def test_a_server_is_read_as_a_worker_starts(root: Client, remote: Real, redis_client: redis.Redis) -> None:
    remote.lists("echo")
    read_each()
    assert body(redis_client, "tools") == ["far"]
    read_task("far")
    assert "far__echo" in root.get(TOOLS).content.decode()


def test_an_operator_approves_what_the_page_showed(root: Client, remote: Real) -> None:
    remote.lists("echo")
    remote.read()
    shown = remote.row("echo").pk
    remote.lists(wire("echo", description="Another."))
    remote.read()
    act(root, TOOLS, "approve_selected", shown)
    assert approved() == []
    now = remote.row("echo").pk
    assert act(root, TOOLS, "approve_selected", now) == 302
    assert [(row.pk, row.asks_user, row.approver) for row in approved()] == [(now, True, operator())]
    entry = LogEntry.objects.order_by("-pk")[0]
    assert entry.actor == operator() and entry.additional_data["action"] == "approved"
    act(root, TOOLS, "withdraw_selected", now)
    assert approved() == []


def test_a_tool_page_shows_the_change_and_runs_no_markup(root: Client, remote: Real) -> None:
    remote.offers("echo")
    remote.lists(wire("echo", title="<b>", description="<script>alert(1)</script>\u200b"))
    remote.read()
    page = root.get(f"{TOOLS}{remote.row('echo').pk}/change/").content.decode()
    assert "changed since it was approved" in page and "+ &quot;description&quot;" in page
    assert "<script>alert" not in page and "&lt;U+200B&gt;" in page


@pytest.mark.parametrize("action", ["approve_selected", "approve_without_asking"])
def test_nothing_is_approved_that_the_page_did_not_show(root: Client, remote: Real, action: str) -> None:
    remote.lists("echo", "other")
    remote.read()
    given = {"action": action, "_selected_action": [remote.row("echo").pk], "select_across": "1"}
    page = root.post(TOOLS, given, follow=True).content.decode()
    assert "Select the tools one by one" in page and approved() == []


def test_a_tool_is_approved_on_its_own_page(root: Client, remote: Real) -> None:
    remote.lists("echo", "other")
    remote.read()
    row = remote.row("echo")
    page = root.get(f"{TOOLS}{row.pk}/change/").content.decode()
    assert f'name="_selected_action" value="{row.pk}"' in page
    assert re.findall(r'<button[^>]* formaction="([^"]*)" name="action" value="(\w+)"', page) == [
        (TOOLS, "approve_selected"),
        (TOOLS, "approve_without_asking"),
        (TOOLS, "withdraw_selected"),
    ]
    act(root, TOOLS, "approve_selected", row.pk)
    assert [each.name for each in approved()] == ["echo"]


def test_a_tool_that_changed_before_its_approval_says_so(root: Client, remote: Real) -> None:
    remote.lists("echo")
    remote.read()
    assert "new, waits for approval" in root.get(TOOLS).content.decode()
    remote.lists(wire("echo", description="Another."))
    remote.read()
    page = root.get(TOOLS).content.decode()
    assert "changed since it was first listed" in page and "new, waits" not in page


@pytest.mark.parametrize("path", [SERVERS, TOOLS])
def test_others_neither_see_nor_decide(remote: Real, path: str) -> None:
    remote.lists("echo")
    remote.read()
    bert = staff("change_price")
    assert bert.get(path).status_code == 403
    assert act(bert, TOOLS, "approve_selected", remote.row("echo").pk) == 403
    assert approved() == []


def test_the_permission_alone_is_enough(remote: Real) -> None:
    remote.lists("echo")
    remote.read()
    bert = staff("change_mcptool")
    assert bert.get(SERVERS).status_code == 403
    assert act(bert, TOOLS, "approve_selected", remote.row("echo").pk) == 302
    assert [row.name for row in approved()] == ["echo"]
