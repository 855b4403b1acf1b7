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
from tests.browser.test_desk import at, manage
from tests.browser.waiting import wait_until
from tests.sign_in import press_link

GROUP = "lab <i>7</i>"
_MAKE = f"""
from django.contrib.auth.models import Group, User
group, _ = Group.objects.get_or_create(name={GROUP!r})
for name in ("lina", "leo"):
    User.objects.get_or_create(username=name)[0].groups.add(group)
"""
_REMOVE = f"from django.contrib.auth.models import Group; Group.objects.filter(name={GROUP!r}).delete()"


@pytest.fixture(scope="module")
def desk(page: Page, product: Running) -> Iterator[Page]:
    """The operator's page, with a group of two users while this module runs."""
    manage(product, "shell", "-c", _MAKE)
    yield page
    manage(product, "shell", "-c", _REMOVE)


def page_of(name: str, desk: Page, product: Running) -> Page:
    """The page of another user, in a browser of their own."""
    assert desk.context.browser is not None
    found = desk.context.browser.new_context().new_page()
    press_link(found, manage(product, "signin_link", "--user", name).strip())
    return found


@pytest.fixture(scope="module")
def lina(desk: Page, product: Running) -> Iterator[Page]:
    found = page_of("lina", desk, product)
    yield found
    found.context.close()


@pytest.fixture(scope="module")
def leo(desk: Page, product: Running) -> Iterator[Page]:
    found = page_of("leo", desk, product)
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
    expect(lina.get_by_role("navigation", name="Whose usage")).to_have_count(0)

    desk.goto(at(product, "/admin/users/"))
    desk.get_by_role("button", name=f"Owners of {GROUP}").click()
    dialog = desk.get_by_role("dialog", name=f"Owners of {GROUP}")
    dialog.get_by_label("New owner").fill("a stranger")
    dialog.get_by_role("button", name="Add").click()
    expect(dialog.get_by_role("alert")).to_contain_text("An owner is a member of the group.")
    dialog.get_by_label("New owner").fill("lina")
    dialog.get_by_role("button", name="Add").click()
    expect(dialog.get_by_role("list", name="Owners")).to_contain_text("lina")
    dialog.get_by_role("button", name="Done").click()
    expect(desk.get_by_role("row").filter(has_text=GROUP).filter(has_text="none of its own")).to_contain_text("lina")

    lina.reload()
    lina.get_by_role("navigation", name="Whose usage").get_by_role("link", name=GROUP).click()
    expect(lina.get_by_role("heading", name=f"Usage of {GROUP}")).to_be_visible()
    table = lina.get_by_role("region", name="List of requests")
    expect(table.get_by_role("row").filter(has_text="leo")).to_have_count(1)
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

    desk.get_by_role("button", name=f"Owners of {GROUP}").click()
    dialog.get_by_role("button", name="Remove the owner lina").click()
    expect(dialog.get_by_text("The group has no owner.")).to_be_visible()
    desk.keyboard.press("Escape")
    lina.reload()
    expect(lina.get_by_role("alert").first).to_contain_text("Only an owner of the group sees its usage.")
    audited = shown(desk, product, "/api/audit?text=lina")["entries"]
    assert [entry["action"] for entry in audited][:2] == ["ended the ownership of", "named as an owner of a group"]


def test_a_group_is_stopped_while_a_members_answer_streams(desk: Page, leo: Page, product: Running) -> None:
    base = at(product, "")
    params = {"max_tokens": 1500, "seed": 1, "regex": "([a-z]{2,9} ){400}", "stop_on_repetition": False}
    conversation = post(leo, base, "/api/conversations", {"params": params})["id"]
    leo.goto(f"{base}/c/{conversation}")
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
