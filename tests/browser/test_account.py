"""Sign-ins and keys in a browser: a user sees and ends the own ones, an operator those of a user."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import findings, findings_in_both_themes
from tests.browser.running import Running
from tests.browser.test_acting import WIDTHS
from tests.browser.test_desk import at
from tests.browser.visiting import page_of, sign_in, visit
from tests.sign_in import press_link

NAME = "nora <i>n</i>"
_FORGET = (
    f"from webapp.identity.accounts.models import Session; Session.objects.filter(user__username={NAME!r}).delete()"
)
"""The sign-ins of the tests before."""


def link_of_nora(product: Running) -> str:
    return product.manage("signin_link", "--user", NAME).strip()


@pytest.fixture(scope="module")
def place(browser: Browser, product: Running) -> Iterator[Page]:
    """The page of this user, in a context of its own."""
    found = page_of(browser, link_of_nora(product))
    yield found
    found.context.close()


@pytest.fixture
def nora(place: Page, product: Running) -> Page:
    """Signed in anew, and nowhere else."""
    place.goto("about:blank")
    product.manage("shell", "--no-imports", "-c", _FORGET)
    sign_in(place.context, link_of_nora(product))
    return place


@pytest.fixture
def other(browser: Browser, product: Running) -> Iterator[Page]:
    """The same user once more."""
    context = browser.new_context()
    found = context.new_page()
    press_link(found, link_of_nora(product))
    yield found
    context.close()


def test_a_user_sees_the_own_sign_ins_and_ends_all_others(nora: Page, other: Page, product: Running) -> None:
    visit(nora, at(product, "/library"))
    nora.get_by_role("link", name=f"{NAME}: your account").click()
    expect(nora.get_by_role("heading", name="Your account")).to_be_visible()
    listed = nora.get_by_role("list", name="Where you are signed in").get_by_role("listitem")
    expect(listed).to_have_count(2)
    expect(listed.first).to_contain_text(re.compile(r"Chrome.* on Linux.*this one"))
    expect(listed.first).to_contain_text("address 127.0.0.*")
    assert findings(nora) == []
    nora.get_by_role("button", name="Sign out everywhere else").click()
    expect(nora.get_by_text("You are signed out in one other place.")).to_be_visible()
    expect(listed).to_have_count(1)
    other.goto(at(product, "/library"))
    expect(other).to_have_url(re.compile(r"/accounts/login/\?next=/library$"))
    expect(other.get_by_text("A sign-in ends after 3 days without use")).to_be_visible()


def test_a_user_ends_one_sign_in_and_then_this_one(nora: Page, other: Page, product: Running) -> None:
    visit(nora, at(product, "/account"))
    listed = nora.get_by_role("list", name="Where you are signed in").get_by_role("listitem")
    expect(listed).to_have_count(2)
    nora.get_by_role("button", name=re.compile("^Sign out .*Chrome")).click()
    expect(listed).to_have_count(1)
    assert other.request.get(at(product, "/api/conversations")).status == 401
    nora.get_by_role("button", name="Sign out here").click()
    expect(nora).to_have_url(re.compile("/accounts/login/$"))


def test_the_page_fits_and_can_be_read(nora: Page, product: Running) -> None:
    visit(nora, at(product, "/account"))
    expect(nora.get_by_role("list", name="Where you are signed in").get_by_role("listitem")).to_have_count(1)
    expect(nora.get_by_role("link", name="Export as ZIP")).to_be_visible()
    for width, height in WIDTHS:
        nora.set_viewport_size({"width": width, "height": height})
        assert nora.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert findings_in_both_themes(nora) == []


def test_an_operator_ends_all_sign_ins_of_a_user(page: Page, nora: Page, product: Running) -> None:
    visit(page, at(product, "/admin/users/"))
    page.get_by_role("link", name=NAME).click()
    page.get_by_role("button", name="Sign out everywhere").click()
    dialog = page.get_by_role("dialog", name=f"Sign {NAME} out everywhere")
    expect(dialog.get_by_label("Concerned")).to_contain_text(f"{NAME} has 1 sign-in")
    assert findings(page) == []
    dialog.get_by_label("Reason, for the audit log").fill("A lost laptop")
    dialog.get_by_role("button", name="Sign the user out").click()
    expect(page.get_by_text(f"{NAME} is signed out: 1 sign-in ended.")).to_be_visible()
    assert nora.request.get(at(product, "/api/conversations")).status == 401
    visit(page, at(product, "/admin/audit/"))
    entry = page.get_by_role("listitem").filter(has_text="ended all sign-ins of").first
    expect(entry).to_contain_text("A lost laptop")


def status_with(secret: str, product: Running) -> int:
    return httpx.get(at(product, "/api/conversations"), headers={"Authorization": f"Bearer {secret}"}).status_code


def test_a_user_makes_a_key_which_works_until_it_is_revoked(nora: Page, product: Running) -> None:
    visit(nora, at(product, "/account"))
    nora.get_by_role("button", name="New key").click()
    dialog = nora.get_by_role("dialog", name="New key")
    dialog.get_by_label("Name").fill("notebook")
    dialog.get_by_label("Read", exact=True).check()
    assert findings(nora) == []
    dialog.get_by_role("button", name="Make the key").click()
    shown = nora.get_by_role("dialog", name="notebook")
    secret = shown.get_by_label("The key").input_value()
    assert findings(nora) == []
    assert status_with(secret, product) == 200
    shown.get_by_role("button", name="Done").click()
    listed = nora.get_by_role("list", name="API keys").get_by_role("listitem").first
    expect(listed).to_contain_text(re.compile(rf"notebook.*{secret[:11]}….*May use read · all models"))
    nora.reload()
    expect(listed).to_contain_text("last used")
    assert secret[11:] not in nora.content()
    nora.get_by_role("button", name="Revoke notebook").click()
    nora.get_by_role("dialog", name="Revoke notebook").get_by_role("button", name="Revoke the key").click()
    expect(nora.get_by_text("notebook is revoked.")).to_be_visible()
    assert status_with(secret, product) == 401
    assert findings(nora) == []


def test_an_operator_revokes_a_key_of_a_user(page: Page, nora: Page, product: Running) -> None:
    secret = product.manage("create_key", NAME, "--name", "leaked").split()[-1]
    visit(page, at(product, "/admin/users/"))
    page.get_by_role("link", name=NAME).click()
    page.get_by_role("button", name="Revoke leaked").click()
    dialog = page.get_by_role("dialog", name="Revoke leaked")
    dialog.get_by_label("Reason, for the audit log").fill("Found in a repository")
    assert findings(page) == []
    dialog.get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_text("leaked is revoked.")).to_be_visible()
    assert status_with(secret, product) == 401
    visit(page, at(product, "/admin/audit/"))
    expect(page.get_by_role("listitem").filter(has_text="revoked a key of").first).to_contain_text(
        "Found in a repository"
    )
