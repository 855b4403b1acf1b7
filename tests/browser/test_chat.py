"""The chat as a demanding user meets it: what was refused stays, settings are checked, and tabs agree."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

QUESTION = "Write two sentences about a lighthouse."


def write(page: Page, text: str) -> None:
    page.get_by_test_id("composer").fill(text)
    page.get_by_test_id("composer").press("Enter")


def wait_until_written(page: Page) -> None:
    expect(page.get_by_role("button", name="Regenerate").last).to_be_attached(timeout=60_000)


def unsent(page: Page) -> Locator:
    return page.get_by_test_id("unsent")


def texts(page: Page) -> list[str]:
    return page.get_by_test_id("user-message").all_inner_texts()


def test_settings_say_what_cannot_hold_before_anything_is_sent(page: Page) -> None:
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Form of the answer").select_option("regex")
    regex = dialog.get_by_role("textbox", name="Regular expression")
    for nonsense in ("(?=a)b", "(", "[z-a]"):
        regex.fill(nonsense)
        dialog.get_by_role("button", name="Done").click()
        expect(dialog.get_by_role("alert")).to_contain_text("Regular expression cannot be used")
        expect(regex).to_be_focused()
    dialog.get_by_label("Temperature").fill("9")
    dialog.get_by_role("button", name="Done").press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("Temperature must be between 0 and 5.")
    expect(dialog.get_by_label("Temperature")).to_be_focused()
    dialog.get_by_label("Temperature").fill("0.123")
    regex.fill("yes|no")
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Settings").click()
    expect(dialog.get_by_label("Temperature")).to_have_value("0.123")
    dialog.get_by_role("button", name="Reset").click()
    dialog.get_by_label("Longest answer").fill("24")
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)


def test_messages_that_were_refused_stay_until_they_are_sent_or_discarded(page: Page) -> None:
    write(page, QUESTION)
    wait_until_written(page)
    page.context.set_offline(True)
    write(page, "First")
    write(page, "Second")
    page.get_by_test_id("composer").fill("A draft")
    expect(unsent(page)).to_have_count(2)
    page.context.set_offline(False)
    page.reload()
    expect(unsent(page)).to_have_count(2)
    expect(page.get_by_test_id("composer")).to_have_value("A draft")
    assert texts(page) == [QUESTION, "First", "Second"]

    unsent(page).first.get_by_role("button", name="Discard").press("Enter")
    expect(unsent(page)).to_have_count(1)
    page.get_by_role("button", name="Undo").press("Enter")
    expect(unsent(page)).to_have_count(2)

    unsent(page).nth(1).get_by_role("button", name="Edit").press("Enter")
    page.keyboard.type(" thoughts")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Regenerate")).to_have_count(2, timeout=60_000)
    assert texts(page) == [QUESTION, "Second thoughts", "First"]
    expect(page.get_by_test_id("composer")).to_be_focused()
    unsent(page).get_by_role("button", name="Try again").press("Enter")
    expect(page.get_by_role("button", name="Regenerate")).to_have_count(3, timeout=60_000)
    assert texts(page) == [QUESTION, "Second thoughts", "First"]
    expect(unsent(page)).to_have_count(0)


SIZES: list[ViewportSize] = [
    {"width": 1440, "height": 900},
    {"width": 390, "height": 844},
    {"width": 320, "height": 568},
]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size['width']}")
def test_done_is_always_in_sight_and_the_corners_are_whole(page: Page, size: ViewportSize) -> None:
    page.set_viewport_size(size)
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    for name in ("Done", "Cancel", "Reset", "Close"):
        expect(dialog.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    box = dialog.bounding_box()
    assert box is not None
    assert box["x"] >= 0 <= box["y"]
    assert box["y"] + box["height"] <= size["height"]
    # What scrolls lies within the corners' rounding: the dialog itself does not.
    assert dialog.evaluate("(each) => [each.scrollHeight <= each.clientHeight, getComputedStyle(each).overflowY]") == [
        True,
        "hidden",
    ]
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1360, "height": 860})


def test_a_new_title_is_the_tabs_title_at_once(page: Page) -> None:
    row = page.get_by_role("navigation").get_by_role("listitem").first
    row.hover()
    row.get_by_role("button", name=re.compile("Rename")).click()
    page.keyboard.type("Beacons")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Beacons · Sightglass")


def test_the_list_marks_where_an_answer_is_written_and_where_one_is_new(page: Page) -> None:
    chats = page.get_by_role("navigation").get_by_role("listitem")
    page.get_by_role("button", name="Step", exact=True).click()
    write(page, "And a third.")
    expect(page.get_by_test_id("step-bar")).to_contain_text("Token 1 proposed", timeout=30_000)
    expect(chats.first.get_by_role("link")).to_have_accessible_name("Beacons (an answer is being written)")
    page.get_by_role("link", name="New chat").first.click()
    write(page, QUESTION)
    wait_until_written(page)
    other = chats.get_by_role("link", name=re.compile("^Beacons"))
    expect(other).to_have_accessible_name("Beacons (an answer is being written)")
    page.evaluate(
        """async () => {
          const list = await (await fetch("/api/conversations")).json();
          const {id} = list.conversations.find(({is_streaming}) => is_streaming);
          const {messages} = await (await fetch(`/api/conversations/${id}`)).json();
          const running = messages.find(({status}) => status === "streaming").request_id;
          const token = document.cookie.match(/csrftoken=([^;]*)/)[1];
          await fetch(`/api/requests/${running}/cancel`, {method: "POST", headers: {"X-CSRFToken": token}});
        }"""
    )
    expect(other).to_have_accessible_name("Beacons (a new answer)", timeout=10_000)
    other.click()
    expect(other).to_have_accessible_name("Beacons")


def test_step_mode_says_what_it_waits_for_and_has_one_stop(page: Page) -> None:
    page.get_by_role("button", name="Step", exact=True).click()
    write(page, "And a fourth.")
    waiting = page.get_by_test_id("step-bar").get_by_text("Waiting for your choice. Token 1 proposed")
    expect(waiting).to_be_attached(timeout=30_000)
    told = [text for text in page.locator('.chat [role="status"]').all_inner_texts() if text]
    assert told == []
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(1)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_test_id("step-bar")).to_have_count(0)
    page.get_by_role("button", name="Step", exact=True).click()


def test_what_was_sent_in_another_tab_is_there_when_this_one_is_looked_at(page: Page) -> None:
    with page.expect_popup() as opened:
        page.evaluate("() => void window.open(location.href)")
    other = opened.value
    expect(other.get_by_test_id("user-message").last).to_have_text("And a fourth.")
    write(other, "From the other tab.")
    wait_until_written(other)
    other.close()
    page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    expect(page.get_by_test_id("user-message").last).to_have_text("From the other tab.")
    expect(page.get_by_test_id("assistant-message").last).not_to_be_empty()
