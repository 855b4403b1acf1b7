"""An operator adds a model by the page; a user chooses it at the composer; it is drained, retired and deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import findings
from tests.browser.running import Running
from tests.browser.test_desk import at
from tests.browser.visiting import visit
from tests.webapp.registered import tiny

STARTED_MS = 240_000
"""A worker of the added model starts beside the others."""


@pytest.fixture(scope="module")
def shown(page: Page, product: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page of models with the model `tiny`, which is deleted at the end."""
    path = tiny(tmp_path_factory.mktemp("model"))
    visit(page, at(product, "/admin/models/"))
    page.get_by_role("button", name="Add a model").click()
    page.get_by_role("radio", name="GGUF file").check()
    page.get_by_label("File", exact=False).last.fill(str(path.with_name("absent.gguf")))
    page.get_by_role("textbox", name="Id").fill("tiny")
    page.get_by_role("button", name="Add and check").click()
    wrong = page.get_by_role("dialog").locator('[aria-invalid="true"]')
    expect(wrong).to_be_focused()
    wrong.fill(str(path))
    page.get_by_role("button", name="Add and check").click()
    expect(row(page)).to_have_attribute("data-state", "enabled", timeout=STARTED_MS)
    yield page
    visit(page, at(product, "/admin/models/"))
    act(page, "Drain", "drained")
    act(page, "Retire", "retired")
    row(page).get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row(page)).to_have_count(0)


def row(page: Page) -> Locator:
    return page.get_by_test_id("model").filter(has=page.get_by_role("heading", name="tiny"))


def act(page: Page, button: str, state: str) -> None:
    row(page).get_by_role("button", name=button).click()
    expect(row(page)).to_have_attribute("data-state", state, timeout=STARTED_MS)


def test_an_added_model_is_checked_by_an_answer_with_a_trace(shown: Page) -> None:
    expect(row(shown)).to_contain_text("It is offered on the chat page")
    expect(row(shown).get_by_role("link", name="Open its trace")).to_have_attribute(
        "href", re.compile("/requests/req_")
    )
    assert findings(shown) == []


def test_a_conversation_goes_to_the_chosen_model(shown: Page, product: Running) -> None:
    visit(shown, at(product, "/"))
    shown.get_by_role("button", name=re.compile("^Model: ")).click()
    shown.get_by_role("button", name=re.compile("^tiny")).click()
    expect(shown.get_by_role("button", name=re.compile("^Model: tiny"))).to_be_visible()
    shown.get_by_role("textbox", name="Message").fill("Hi.")
    with shown.expect_response(lambda answer: answer.url.endswith("/messages")) as sent:
        shown.get_by_role("button", name="Send").click()
    request_id = sent.value.json()["assistant_message"]["request_id"]
    expect(shown.get_by_role("button", name="Send")).to_be_visible()
    assert shown.request.get(at(product, f"/api/requests/{request_id}")).json()["model"] == "tiny"


def test_the_default_model_stays_enabled(shown: Page, product: Running) -> None:
    visit(shown, at(product, "/admin/models/"))
    default = shown.get_by_test_id("model").filter(has_text="default").first
    expect(default).to_contain_text("so it stays enabled")
    expect(default.get_by_role("button", name="Drain")).to_have_count(0)
