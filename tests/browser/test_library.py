"""The library in a real browser: filters in the address, views, tags, a selection, links that open for anybody."""

from __future__ import annotations

import re
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Locator, Page, expect

from benchmarks.synthetic_trace import frames
from inference.protocol.events import RequestAccepted
from tests.browser.panels import each_tab
from tests.browser.running import Running
from tests.browser.visiting import visit
from webapp.traces.file import archive

TITLES = ("a question of rivers", "a question of lakes", "a question of tides")
SECRET = "forty"
"""A word of the answer."""


def trace_file(title: str, day: int, num_tokens: int = 12) -> bytes:
    """Of a request made so many days after the first."""
    first, *others = frames(num_tokens)
    accepted = first.events[0]
    assert isinstance(accepted, RequestAccepted)
    made = replace(accepted, accepted_unix_us=accepted.accepted_unix_us + day * 86_400_000_000)
    return archive.encode([replace(first, events=(made, *first.events[1:])), *others], {"title": title})


@pytest.fixture(scope="module")
def address(page: Page, product: Running) -> str:
    """Of the library, with three traces in it."""
    base = product.link.partition("/signin/")[0]
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": base}
    for day, title in enumerate(TITLES):
        file = {"name": "a.sgtrace", "mimeType": "application/octet-stream", "buffer": trace_file(title, day)}
        answer = page.request.post(f"{base}/api/requests/import", headers=headers, multipart={"file": file})
        assert answer.status == 201, answer.text()
    return f"{base}/library"


@pytest.fixture
def rows(page: Page, address: str) -> Iterator[Locator]:
    visit(page, address)
    found = page.locator("tbody tr")
    expect(found).to_have_count(3)
    yield found


def test_the_library_shows_how_much_of_the_quota_is_used(page: Page, rows: Locator) -> None:
    expect(page.get_by_text(re.compile(r"Used [\d.]+\sKiB of 2048\.0\sMiB"))).to_be_visible()


def test_a_filter_is_in_the_address_and_a_chip_takes_it_away(page: Page, rows: Locator) -> None:
    page.keyboard.press("/")
    page.keyboard.type("lakes")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?q=lakes$"))
    page.get_by_role("button", name="Filter").click()
    page.get_by_label("Cost at least, USD").fill("9")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No trace matches.")).to_be_visible()
    page.reload()
    chips = page.get_by_role("list", name="Filters in force")
    expect(chips.get_by_role("button")).to_have_count(3)
    chips.get_by_role("button", name="Cost ≥ 9").click()
    expect(rows).to_have_count(1)
    chips.get_by_role("button", name="“lakes”").click()
    expect(rows).to_have_count(3)
    page.go_back()
    expect(rows).to_have_count(1)


def titles(rows: Locator) -> Locator:
    return rows.locator("[data-key=title]")


def test_a_column_s_head_sorts_and_the_address_keeps_it(page: Page, rows: Locator) -> None:
    expect(titles(rows)).to_have_text(TITLES[::-1])
    heads = page.get_by_role("columnheader")
    when = heads.filter(has_text="When")
    expect(when).to_have_attribute("aria-sort", "descending")
    when.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"\?sort=created_at$"))
    expect(when).to_have_attribute("aria-sort", "ascending")
    expect(rows.first).to_contain_text(TITLES[0])
    expect(titles(rows)).to_have_text(TITLES)
    expect(when.get_by_role("button")).to_be_focused()
    page.get_by_role("button", name="Cost", exact=True).click()
    expect(page).to_have_url(re.compile(r"\?sort=-cost_nano$"))
    expect(heads.filter(has_text="Cost")).to_have_attribute("aria-sort", "descending")
    expect(when).not_to_have_attribute("aria-sort", re.compile("."))
    expect(page.get_by_role("list", name="Filters in force")).to_have_count(0)
    page.reload()
    expect(heads.filter(has_text="Cost")).to_have_attribute("aria-sort", "descending")
    page.go_back()
    expect(when).to_have_attribute("aria-sort", "ascending")


def test_an_order_that_there_is_not_is_said_and_a_chip_takes_it_away(page: Page, address: str) -> None:
    visit(page, f"{address}?sort=foo")
    expect(page.get_by_role("alert")).to_contain_text("sort")
    chips = page.get_by_role("list", name="Filters in force")
    chips.get_by_role("button", name="sort: foo").click()
    expect(page.locator("tbody tr")).to_have_count(3)
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page).to_have_url(address)


def test_a_filter_offers_what_occurs_and_names_its_unit(page: Page, rows: Locator) -> None:
    page.get_by_role("button", name="Filter").click()
    asked_by = page.get_by_label("Asked by")
    expect(asked_by.locator("option")).to_have_text(["any", "the chat"])
    expect(page.get_by_label("Origin").locator("option")).to_have_text(["any", "imported"])
    for figure in ("First text at least, ms", "Duration at least, s", "Cost at least, USD"):
        expect(page.get_by_label(figure)).to_be_visible()
    page.get_by_label("Cost at least, USD").fill("0.5")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Cost ≥ 0.5\u00a0USD")).to_be_visible()


def test_an_exported_page_comes_back_and_what_is_there_is_not_imported_twice(
    page: Page, rows: Locator, tmp_path: Path
) -> None:
    row = rows.filter(has_text=TITLES[1])
    expect(row).to_contain_text("imported")
    request_id = (row.locator("[data-key=title]").get_attribute("href") or "").rpartition("/")[2]
    answer = page.request.get(f"{page.url.removesuffix('/library')}/api/requests/{request_id}/export?format=html")
    path = tmp_path / "trace.html"
    path.write_bytes(answer.body())
    for there in (True, False):
        page.locator("input[type=file]").set_input_files(path)
        told = page.get_by_role("status").filter(has_text=TITLES[1])
        expect(told).to_contain_text("Already in your library" if there else "Imported")
        expect(rows).to_have_count(3)
        if there:
            expect(told.get_by_role("link")).to_have_attribute("href", f"/requests/{request_id}")
            row.get_by_role("button", name="Delete").click()
            expect(rows).to_have_count(2)
    page.get_by_role("link", name=TITLES[1]).first.click()
    expect(page.get_by_text("Made elsewhere on June 16, 2025")).to_be_visible()


def test_an_address_that_asks_for_no_filter_says_so(page: Page, address: str) -> None:
    visit(page, f"{address}?stats=done")
    expect(page.get_by_role("alert")).to_have_text(re.compile("did you mean 'status'?"))
    page.get_by_role("button", name="stats: done").click()
    expect(page.locator("tbody tr")).to_have_count(3)


def test_the_list_is_walked_by_keys_and_escape_leaves_what_is_open_first(page: Page, rows: Locator) -> None:
    page.keyboard.press("/")
    page.keyboard.type("question")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"\?q=question$"))
    expect(rows).to_have_count(3)
    boxes = rows.get_by_role("checkbox")
    boxes.first.focus()
    for key, at in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowDown", 2), ("ArrowUp", 1)):
        page.keyboard.press(key)
        expect(boxes.nth(at)).to_be_focused()
    page.keyboard.press("Space")
    bar = page.get_by_role("region", name="Selected traces")
    naming = page.get_by_label("Name of the view")
    page.get_by_role("button", name="Save as view").click()
    page.keyboard.press("Escape")
    expect(naming).to_have_count(0)
    expect(page.get_by_role("button", name="Save as view")).to_be_focused()
    expect(bar).to_be_visible()
    page.keyboard.press("Escape")
    expect(bar).to_have_count(0)


def test_tags_are_put_on_a_selection_and_make_a_view(page: Page, rows: Locator) -> None:
    page.get_by_role("checkbox", name=f"Select {TITLES[0]}").focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    bar = page.get_by_role("region", name="Selected traces")
    expect(bar.get_by_role("status")).to_have_text("2 traces selected")
    expect(bar.get_by_role("link", name="Compare")).to_have_attribute("href", re.compile(r"/compare\?ids=req_\w+,req_"))
    bar.get_by_role("button", name="Tag").click()
    page.get_by_role("combobox", name="Tags").fill("wet, odd")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(bar.get_by_role("button", name="Tag")).to_be_focused()  # what was selected stays so
    expect(page.get_by_role("link", name="odd", exact=True).first).to_be_visible()
    page.get_by_role("link", name="wet").first.click()
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Save as view").click()
    page.keyboard.type("Wet ones")
    page.keyboard.press("Enter")
    views = page.get_by_role("navigation", name="Views")
    expect(views.get_by_role("link", name="Wet ones")).to_have_attribute("aria-current", "page")
    expect(views.get_by_role("link", name="Wet ones")).to_be_focused()
    views.get_by_role("link", name="Pinned").click()
    expect(page.get_by_text("No trace matches.")).to_be_visible()
    views.get_by_role("link", name="Wet ones").click()
    expect(rows).to_have_count(2)
    views.get_by_role("button", name="Delete the view Wet ones").click()
    page.get_by_role("button", name="Undo").click()
    expect(views.get_by_role("link", name="Wet ones")).to_be_visible()


def test_a_pin_and_a_note_stay(page: Page, rows: Locator) -> None:
    row = rows.filter(has_text=TITLES[2])
    pin = row.get_by_role("button", name="Pin")
    pin.click()
    expect(pin).to_have_attribute("aria-pressed", "true")
    row.get_by_role("button", name="Tag").click()
    page.get_by_label("Note").fill("look at the tides")
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("look at the tides")
    page.reload()
    expect(row).to_contain_text("look at the tides")
    expect(pin).to_have_attribute("aria-pressed", "true")


def test_a_selection_is_archived_deleted_and_comes_back(page: Page, rows: Locator, tmp_path: Path) -> None:
    page.get_by_role("checkbox", name="Select all that are listed").check()
    bar = page.get_by_role("region", name="Selected traces")
    with page.expect_download() as download:
        bar.get_by_role("button", name="Export").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    with zipfile.ZipFile(path) as file:
        assert len(file.namelist()) == 4
    bar.get_by_role("button", name="Delete").click()
    expect(rows).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(3)
    page.get_by_role("checkbox", name="Select all that are listed").check()
    bar.get_by_role("button", name="Delete").click()
    with page.expect_response("**/api/requests/delete") as deleted:
        page.get_by_role("button", name="Dismiss").click()
    assert deleted.value.ok, deleted.value.text()
    page.reload()
    expect(page.get_by_text("No traces yet")).to_be_visible()
    page.locator("input[type=file]").set_input_files(path)
    expect(rows).to_have_count(3)
    expect(rows.get_by_role("link", name="wet", exact=True)).to_have_count(2)


@pytest.mark.parametrize("is_redacted", [True, False])
def test_a_link_opens_for_somebody_who_is_not_signed_in(page: Page, rows: Locator, is_redacted: bool) -> None:
    row = rows.filter(has_text=TITLES[0])
    row.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog", name="Share this trace")
    dialog.get_by_role("checkbox").set_checked(is_redacted)
    dialog.get_by_role("button", name="Make a link").click()
    expect(dialog.get_by_label("The link", exact=True)).to_have_value(re.compile("/shared/"))
    link = dialog.get_by_label("The link", exact=True).input_value()
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context()
    stranger = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    stranger.on("request", lambda request: asked.append(request.url))
    stranger.on("console", lambda message: said.append(message.text))
    stranger.on("pageerror", lambda error: said.append(str(error)))
    response = stranger.goto(link)
    assert response is not None
    expect(stranger.get_by_text("Shared read-only until")).to_be_visible()
    expect(stranger.get_by_test_id("replay-position")).to_contain_text(" / 12")
    for _ in each_tab(stranger):
        expect(stranger.get_by_role("tabpanel")).not_to_be_empty()
    assert (SECRET in response.text()) == (not is_redacted)
    assert (TITLES[0] in response.text()) == (not is_redacted)
    assert (asked, said) == ([link], [])

    dialog.get_by_role("button", name="Delete link").first.click()
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    expect(dialog.get_by_role("button", name="Delete link")).to_have_count(0)
    answer = stranger.goto(link)
    assert answer is not None
    assert answer.status == 404
    expect(stranger.get_by_role("heading")).to_have_text("This link does not work")
    context.close()


def test_what_a_rule_would_delete_is_told_before_it_is_set(page: Page, rows: Locator) -> None:
    page.get_by_role("button", name="Keep traces for").click()
    dialog = page.get_by_role("dialog", name="Keep traces for")
    dialog.get_by_role("spinbutton").fill("7")
    expect(dialog.get_by_role("status")).to_contain_text("would delete none of 3 traces now. 1 pinned trace stays.")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Keep traces for").click()
    expect(dialog.get_by_role("spinbutton")).to_have_value("7")
    dialog.get_by_role("button", name="Cancel").click()


def age(data: Path, title: str) -> None:
    """As if it had been saved long ago."""
    with closing(sqlite3.connect(data / "sightglass.sqlite3", timeout=20)) as database, database:
        database.execute("UPDATE lifecycle_request SET finished_at = '2020-01-01' WHERE title = ?", (title,))


def test_a_rule_that_takes_traces_says_so_and_is_set_back(page: Page, product: Running, rows: Locator) -> None:
    age(product.data, TITLES[0])
    page.get_by_role("button", name="Keep traces for").click()
    dialog = page.get_by_role("dialog", name="Keep traces for")
    dialog.get_by_role("spinbutton").fill("9")
    dialog.get_by_role("button", name="Save, delete 1 trace").click()
    expect(page.get_by_text("1 trace is older than the rule allows")).to_be_visible()
    page.get_by_role("button", name="Back to 7 days").click()
    expect(page.get_by_text("older than the rule allows")).to_have_count(0)
    page.get_by_role("button", name="Keep traces for").click()
    expect(dialog.get_by_role("spinbutton")).to_have_value("7")
    dialog.get_by_role("button", name="Cancel").click()


def test_the_library_fits_a_phone(page: Page, address: str) -> None:
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=True, storage_state=page.context.storage_state()
    )
    phone = context.new_page()
    visit(phone, address)
    phone.get_by_role("button", name="Filter").tap()
    phone.get_by_label("Sort by").select_option("When")
    phone.get_by_role("button", name="newest first").tap()
    expect(phone.get_by_role("button", name="oldest first")).to_be_visible()
    expect(phone.locator("tbody tr").first).to_contain_text(TITLES[0])
    phone.get_by_role("checkbox", name=f"Select {TITLES[0]}").tap()
    expect(phone.get_by_role("region", name="Selected traces")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") == 360
    context.close()


def test_what_is_still_running_is_not_deleted_and_comes_back(page: Page, address: str) -> None:
    base = address.removesuffix("/library")
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": base}
    conversation = page.request.post(f"{base}/api/conversations", headers=headers, data={}).json()["id"]
    # Every token waits to be asked for, so it runs for as long as the test does.
    body = {"text": "a question of time", "is_stepped": True}
    sent = page.request.post(f"{base}/api/conversations/{conversation}/messages", headers=headers, data=body)
    assert sent.ok, sent.text()
    visit(page, address)
    row = page.locator("tbody tr").filter(has_text="a question of time")
    row.get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_role("alert")).to_contain_text("was not deleted: The request is still running. Stop it first.")
    expect(row).to_have_count(1)
    request_id = sent.json()["assistant_message"]["request_id"]
    page.get_by_role("link", name="Learn", exact=True).click()
    expect(page.get_by_role("heading", name="Learn")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert page.request.post(f"{base}/api/requests/{request_id}/cancel", headers=headers).ok
