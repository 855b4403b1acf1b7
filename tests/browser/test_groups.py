"""Groups and models on the desk: an owner reads the group's use, an operator stops a group and names a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import findings
from tests.browser.running import Running, post
from tests.browser.test_acting import WIDTHS
from tests.browser.test_desk import at
from tests.browser.visiting import page_of
from tests.browser.waiting import wait_until

GROUP = "lab <i>7</i>"
_MAKE = f"""
from django.contrib.auth.models import Group, User
group, _ = Group.objects.get_or_create(name={GROUP!r})
for name in ("lina", "leo"):
    User.objects.get_or_create(username=name)[0].groups.add(group)
"""
_INVITING = f"""
from django.contrib.auth.models import Group, User
from webapp.identity.accounts.role_changes import change_role
from webapp.identity.accounts.models import Role
User.objects.create_user("noor")
change_role(Group.objects.get(name={GROUP!r}), User.objects.get(username="lina"), Role.OWNER)
"""
_REMOVE = f"from django.contrib.auth.models import Group; Group.objects.filter(name={GROUP!r}).delete()"


@pytest.fixture(scope="module")
def desk(page: Page, product: Running) -> Iterator[Page]:
    """The operator's page, with a group of two users while this module runs."""
    product.manage("shell", "-c", _MAKE)
    yield page
    product.manage("shell", "-c", _REMOVE)


def page_of_user(name: str, desk: Page, product: Running) -> Page:
    return page_of(desk.context.browser, product.manage("signin_link", "--user", name).strip())


@pytest.fixture(scope="module")
def lina(desk: Page, product: Running) -> Iterator[Page]:
    found = page_of_user("lina", desk, product)
    yield found
    found.context.close()


@pytest.fixture(scope="module")
def leo(desk: Page, product: Running) -> Iterator[Page]:
    found = page_of_user("leo", desk, product)
    yield found
    found.context.close()


def send(page: Page, product: Running) -> str:
    """Send a message and await the end of its answer; return the request's id."""
    base = at(product, "")
    conversation = post(page, base, "/api/conversations", {"params": {"max_tokens": 2, "seed": 1}})["id"]
    path = f"/api/conversations/{conversation}/messages"
    sent = post(page, base, path, {"text": "Hello", "params": {"max_tokens": 2, "seed": 1}})
    request_id: str = sent["assistant_message"]["request_id"]
    wait_until(page, lambda: shown(page, product, f"/api/requests/{request_id}")["status"] == "done")
    return request_id


def shown(page: Page, product: Running, path: str) -> Any:
    return page.request.get(at(product, path)).json()


def test_an_owner_reads_the_groups_use_until_the_ownership_ends(
    desk: Page, lina: Page, leo: Page, product: Running
) -> None:
    linas, leos = send(lina, product), send(leo, product)
    lina.goto(at(product, "/usage"))
    expect(lina.get_by_role("heading", name="Your usage")).to_be_visible()
    lina.get_by_role("navigation", name="Whose usage").get_by_role("link", name=GROUP).click()
    table = lina.get_by_role("region", name="List of requests")
    expect(lina.get_by_text("You are a member: sends requests")).to_be_visible()
    expect(table).to_have_count(0)

    desk.goto(at(product, "/admin/users/"))
    desk.get_by_role("button", name=f"People of {GROUP}").click()
    dialog = desk.get_by_role("dialog", name=f"People of {GROUP}")
    dialog.get_by_label("Role of lina").select_option("owner")
    expect(dialog.get_by_role("status")).to_have_text("lina is an owner now.")
    dialog.get_by_label("Invite by user name").fill("a stranger")
    dialog.get_by_role("button", name="Invite").click()
    expect(dialog.get_by_role("alert")).to_contain_text("There is no open account 'a stranger'.")
    dialog.get_by_role("button", name="Done").click()
    expect(desk.get_by_role("row").filter(has_text=GROUP).filter(has_text="none of its own")).to_contain_text("lina")

    lina.reload()
    expect(lina.get_by_role("heading", name=f"Usage of {GROUP}")).to_be_visible()
    expect(table.get_by_role("row").filter(has_text="leo")).not_to_have_count(0)
    expect(table.locator(f'a[href="/requests/{linas}"]')).to_have_count(1)
    # A link to a member's trace would lead to a refusal.
    expect(lina.locator(f'a[href*="{leos}"]')).to_have_count(0)
    expect(lina.locator('main a[href^="/admin/"]')).to_have_count(0)
    with lina.expect_download() as saved:
        lina.get_by_role("button", name="Save “Requests” as CSV").click()
    file = saved.value.path().read_text("utf-8")
    assert linas in file
    assert leos in file
    for width, height in WIDTHS:
        lina.set_viewport_size({"width": width, "height": height})
        assert findings(lina) == []
        assert lina.evaluate("document.documentElement.scrollWidth <= innerWidth")
    lina.get_by_role("link", name="My use").click()
    expect(lina.get_by_role("heading", name="Your usage")).to_be_visible()
    lina.go_back()

    desk.get_by_role("button", name=f"People of {GROUP}").click()
    dialog.get_by_label("Role of lina").select_option("member")
    expect(dialog.get_by_role("status")).to_have_text("lina is a member now.")
    desk.keyboard.press("Escape")
    lina.reload()
    expect(lina.get_by_text("You are a member: sends requests")).to_be_visible()
    expect(table).to_have_count(0)
    expect(lina.get_by_role("button", name="People")).to_have_count(0)
    audited = shown(desk, product, "/api/audit?text=lina")["entries"]
    assert [entry["action"] for entry in audited][:2] == ["changed the role of", "changed the role of"]


def test_an_invited_user_joins_and_sends_nothing_once_a_viewer(desk: Page, lina: Page, product: Running) -> None:
    group = next(each for each in shown(desk, product, "/api/users")["groups"] if each["name"] == GROUP)
    product.manage("shell", "-c", _INVITING)
    noor = page_of_user("noor", desk, product)

    lina.goto(at(product, f"/usage/groups/{group['id']}"))
    lina.get_by_role("button", name="People").click()
    dialog = lina.get_by_role("dialog", name=f"People of {GROUP}")
    dialog.get_by_label("Invite by user name").fill("noor")
    dialog.get_by_role("button", name="Invite").click()
    expect(dialog.get_by_role("list", name="Open invitations")).to_contain_text("invited as a member by lina")
    dialog.get_by_label("Role of lina").select_option("viewer")
    expect(dialog.get_by_role("alert")).to_contain_text("lina is the last owner of")
    expect(dialog.get_by_label("Role of lina")).to_have_value("owner")

    noor.goto(at(product, "/account"))
    noor.get_by_role("button", name=f"Accept the invitation into {GROUP}").click()
    expect(noor.get_by_role("list", name="Your groups")).to_contain_text("You are a member")
    noor.goto(at(product, "/"))
    question = noor.get_by_test_id("composer")
    expect(question).to_be_visible()

    # The page reads the group anew when the dialog closes, and builds its panel again.
    lina.reload()
    lina.get_by_role("button", name="People").click()
    dialog.get_by_label("Role of noor").select_option("viewer")
    expect(dialog.get_by_role("status")).to_have_text("noor is a viewer now.")
    lina.reload()
    lina.get_by_role("button", name="Limits", exact=True).click()
    limits = lina.get_by_role("dialog", name=f"Limits of {GROUP}")
    limits.get_by_label("Requests a minute").fill("600")
    limits.get_by_role("button", name="Save the limits").click()
    expect(lina.get_by_role("row", name="Requests a minute no limit 600")).to_be_visible()

    question.fill("Hello")
    question.press("Enter")
    expect(noor.get_by_text("a viewer begins no work").first).to_be_visible()
    noor.reload()
    expect(noor.get_by_text("a viewer sends nothing")).to_be_visible()
    noor.goto(at(product, f"/usage/groups/{group['id']}"))
    expect(noor.get_by_text("You are a viewer: sees the group’s usage")).to_be_visible()
    expect(noor.get_by_role("region", name="List of requests")).to_have_count(0)
    for width, height in WIDTHS:
        noor.set_viewport_size({"width": width, "height": height})
        assert findings(noor) == []
    noor.goto(at(product, "/account"))
    assert findings(noor) == []
    noor.get_by_role("button", name=f"Leave {GROUP}").click()
    noor.get_by_role("dialog").get_by_role("button", name="Leave the group").click()
    expect(noor.get_by_text("You are in no group.")).to_be_visible()
    noor.context.close()


def test_a_group_is_stopped_while_a_members_answer_is_written(desk: Page, leo: Page, product: Running) -> None:
    base = at(product, "")
    conversation = post(leo, base, "/api/conversations", {})["id"]
    leo.goto(f"{base}/c/{conversation}")
    # Each token waits to be taken, so the answer is open for as long as it has to be.
    leo.get_by_role("button", name="Step", exact=True).click()
    question = leo.get_by_test_id("composer")
    question.fill("Count from one to one thousand, in words.")
    question.press("Enter")
    expect(leo.get_by_role("button", name="Stop", exact=True)).to_be_visible()

    desk.goto(at(product, "/admin/users/"))
    desk.get_by_role("button", name=f"Stop of {GROUP}").click()
    dialog = desk.get_by_role("dialog", name=f"Stop group {GROUP} now")
    expect(dialog.get_by_role("status", name="Concerned")).to_contain_text(
        "It stops 2 users: leo, lina. Ends at once: 1 open request."
    )
    assert findings(desk) == []
    dialog.get_by_label("Reason").fill("Too <b>much</b> at once")
    dialog.get_by_role("button", name="Stop the group").click()
    expect(desk.get_by_role("status", name="Done")).to_have_text(f"{GROUP} is stopped. 1 running request was stopped.")
    expect(desk.get_by_role("row", name=f"{GROUP} stopped: Too <b>much</b> at once")).to_be_visible()

    expect(leo.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    question.fill("Again?")
    question.press("Enter")
    expect(leo.get_by_text("An operator has stopped your sending: Too <b>much</b> at once")).to_be_visible()
    desk.get_by_role("link", name="leo", exact=True).click()
    expect(desk.get_by_text(f"The group {GROUP} is stopped with all its members.")).to_be_visible()
    desk.go_back()

    desk.get_by_role("button", name=f"Undo the stop of {GROUP}").click()
    desk.get_by_role("dialog").get_by_role("button", name="Let the group send").click()
    expect(desk.get_by_role("status", name="Done")).to_have_text(f"The users of {GROUP} can send again.")
    assert send(leo, product)


def test_a_model_gets_a_name_that_users_see_and_programs_do_not(desk: Page, leo: Page, product: Running) -> None:
    request_id = send(leo, product)
    model = shown(desk, product, "/api/session")["default_model"]
    desk.goto(at(product, "/admin/prices/"))
    desk.get_by_role("button", name=f"Name of {model}").click()
    dialog = desk.get_by_role("dialog", name=f"Name of {model}")
    field = dialog.get_by_label("Name that users see")
    field.fill("abc\u202etxt")
    dialog.get_by_role("button", name="Save the name").click()
    expect(dialog.get_by_role("alert")).to_contain_text("U+202E, right-to-left override. Remove it.")
    field.fill("Small & <b>fast</b>")
    assert findings(desk) == []
    dialog.get_by_role("button", name="Save the name").click()
    expect(desk.get_by_role("heading", name=f"Small & <b>fast</b> {model}")).to_be_visible()

    leo.goto(at(product, "/"))
    expect(leo.get_by_text(f"You write to Small & <b>fast</b> ({model}).")).to_be_visible()
    leo.goto(at(product, f"/requests/{request_id}"))
    expect(leo.get_by_text(f"Small & <b>fast</b> ({model})")).to_be_visible()
    leo.goto(at(product, "/usage"))
    expect(leo.get_by_role("list", name="Groups")).to_contain_text(f"Small & <b>fast</b> ({model})")
    expect(leo.get_by_role("region", name="List of requests").get_by_title(model).first).to_have_text(
        "Small & <b>fast</b>"
    )
    assert shown(leo, product, f"/api/requests/{request_id}")["model"] == model
    assert json.dumps(shown(leo, product, "/api/usage")["models"]) == json.dumps([{"key": model, "label": model}])

    desk.get_by_role("button", name=f"Name of {model}").click()
    field.fill("")
    dialog.get_by_role("button", name="Save the name").click()
    expect(desk.get_by_role("heading", name=model, exact=True)).to_be_visible()
    leo.goto(at(product, "/"))
    expect(leo.get_by_text(f"You write to {model}.")).to_be_visible()
