"""The chat as a demanding user meets it: what was refused stays, settings are checked, and tabs agree."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Locator, Page, Route, ViewportSize, expect

from tests.browser.panels import look_inside, open_tab
from tests.browser.running import Running

pytestmark = pytest.mark.usefixtures("chat")
QUESTION = "Write two sentences about a lighthouse."


def write(page: Page, text: str) -> None:
    page.get_by_test_id("composer").fill(text)
    page.get_by_test_id("composer").press("Enter")


def wait_until_written(page: Page) -> None:
    expect(page.get_by_role("button", name="Regenerate").last).to_be_attached(timeout=60_000)


def titles_kept(page: Page) -> list[str]:
    """Of the conversations that the server has."""
    found = page.evaluate("async () => (await (await fetch('/api/conversations')).json()).conversations")
    return [each["title"] for each in found]


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
    # All at once, each at its field, and the first in the dialog's order has the focus.
    told = re.compile("Temperature must be between 0 and 5"), re.compile("^Regular expression cannot be used")
    expect(dialog.get_by_role("alert")).to_have_text(told)
    expect(dialog.get_by_label("Temperature")).to_be_focused()
    dialog.get_by_label("Temperature").fill("0.123")
    regex.fill("yes|no")
    dialog.get_by_label("Longest answer").fill("9000")
    dialog.get_by_role("button", name="Done").click()
    expect(dialog.get_by_label("Longest answer")).to_be_focused()
    expect(dialog.get_by_role("status")).to_contain_text("its window holds 8,192 tokens, prompt and answer together")
    dialog.get_by_role("button", name="Keep it").click()
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
    expect(page.get_by_test_id("user-message")).to_have_text([QUESTION, "First", "Second"])

    unsent(page).first.get_by_role("button", name="Discard").press("Enter")
    expect(unsent(page)).to_have_count(1)
    page.get_by_role("button", name="Undo").press("Enter")
    expect(unsent(page)).to_have_count(2)

    unsent(page).nth(1).get_by_role("button", name="Edit").press("Enter")
    page.keyboard.type(" thoughts")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Regenerate")).to_have_count(2, timeout=60_000)
    expect(page.get_by_test_id("user-message")).to_have_text([QUESTION, "Second thoughts", "First"])
    expect(page.get_by_test_id("composer")).to_be_focused()
    unsent(page).get_by_role("button", name="Try again").press("Enter")
    expect(page.get_by_role("button", name="Regenerate")).to_have_count(3, timeout=60_000)
    expect(page.get_by_test_id("user-message")).to_have_text([QUESTION, "Second thoughts", "First"])
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


def test_a_phone_shows_the_scenes_under_the_answer(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(reduced_motion="no-preference")
    write(page, QUESTION)
    wait_until_written(page)
    strip = page.get_by_test_id("live-strip")
    # It comes to rest on the closest call, with the draw's candidates drawn.
    expect(strip).to_contain_text("The closest call", timeout=60_000)
    expect(strip).to_contain_text("in a row")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    strip.click()
    expect(page.get_by_test_id("journey")).to_be_visible()
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1360, "height": 860})


def test_a_new_title_is_the_tabs_title_at_once(page: Page) -> None:
    row = page.get_by_role("group", name="Conversations").get_by_role("listitem").first
    row.hover()
    row.get_by_role("button", name=re.compile("^More for")).click()
    row.get_by_role("button", name="Rename").click()
    page.keyboard.type("Beacons")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Beacons · Sightglass")


def test_the_list_marks_where_an_answer_is_written_and_where_one_is_new(page: Page) -> None:
    chats = page.get_by_role("group", name="Conversations").get_by_role("listitem")
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
    expect(page.locator('.chat [role="status"]').filter(has_text=re.compile(r"\S"))).to_have_count(0)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(1)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_test_id("step-bar")).to_have_count(0)
    page.get_by_role("button", name="Step", exact=True).click()


def test_what_was_sent_in_another_tab_is_there_when_this_one_is_looked_at(page: Page) -> None:
    with page.expect_popup() as opened:
        page.evaluate("() => void window.open(location.href)")
    other = opened.value
    expect(other.get_by_test_id("user-message").filter(has_text="And a fourth.")).to_have_count(1)
    with other.expect_response(lambda answer: answer.request.method == "POST" and answer.url.endswith("/messages")):
        write(other, "From the other tab.")
    other.close()
    page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    expect(page.get_by_test_id("user-message").last).to_have_text("From the other tab.")
    expect(page.get_by_test_id("assistant-message").last).not_to_be_empty()


def titles(page: Page) -> Locator:
    return page.get_by_role("group", name="Conversations").locator("[data-conversation]")


def test_a_first_message_that_is_still_on_its_way_changes_no_other_page(page: Page) -> None:
    num_chats = titles(page).count()
    page.get_by_role("link", name="New chat").first.click()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/messages", hold)
    with page.expect_request("**/messages"):
        write(page, "Left on its way.")
    expect(unsent(page)).to_have_attribute("aria-label", "You, being sent")
    page.get_by_role("link", name="Beacons").click()
    expect(page.get_by_test_id("user-message").first).to_have_text(QUESTION)
    before = texts(page)
    page.get_by_test_id("composer").fill("A draft of Beacons")
    assert len(held) == 1
    held[0].continue_()
    page.unroute("**/messages")
    expect(titles(page)).to_have_count(num_chats + 1, timeout=30_000)
    expect(page).to_have_title("Beacons · Sightglass")
    assert texts(page) == before
    expect(page.get_by_test_id("composer")).to_have_value("A draft of Beacons")
    page.get_by_test_id("composer").fill("")
    page.get_by_role("link", name="New chat").first.click()
    expect(page.get_by_role("heading", name="See what happens between Send and the answer.")).to_be_visible()
    expect(unsent(page)).to_have_count(0)


def test_a_message_stands_once_after_a_reload_before_its_reply(page: Page) -> None:
    taken: list[Route] = []

    def take(route: Route) -> None:
        # The server has it from now on; the page hears nothing of that.
        route.fetch()
        taken.append(route)

    page.route("**/messages", take)
    write(page, "Once only.")
    deadline = time.monotonic() + 60
    while not any(title.startswith("Once only") for title in titles_kept(page)):
        assert time.monotonic() < deadline
    page.reload()
    page.unroute_all(behavior="ignoreErrors")
    expect(page.get_by_test_id("user-message")).to_have_text(["Once only."])
    expect(page).to_have_url(re.compile("/c/conv_"))
    expect(unsent(page)).to_have_count(0)
    wait_until_written(page)
    assert len(taken) == 1


def test_a_message_whose_reply_was_lost_is_asked_once_however_often_it_is_sent(page: Page) -> None:
    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/messages", lose)
    write(page, "And once more.")
    expect(unsent(page).get_by_role("button", name="Try again")).to_be_visible(timeout=30_000)
    page.unroute("**/messages")
    unsent(page).get_by_role("button", name="Try again").press("Enter")
    expect(page.get_by_test_id("user-message")).to_have_text(["Once only.", "And once more."])
    expect(unsent(page)).to_have_count(0)
    wait_until_written(page)
    page.reload()
    expect(page.get_by_test_id("user-message")).to_have_text(["Once only.", "And once more."])


def test_two_posts_of_one_key_at_once_are_one_message(page: Page) -> None:
    replies = page.evaluate(
        """async () => {
          const token = document.cookie.match(/csrftoken=([^;]*)/)[1];
          const post = (path, body, more = {}) =>
            fetch(path, {method: "POST", headers: {"X-CSRFToken": token, ...more}, body: JSON.stringify(body)});
          const {id} = await (await post("/api/conversations", {})).json();
          const key = crypto.randomUUID();
          const send = async () => {
            const body = {text: "Twice at once.", params: {max_tokens: 3}};
            const reply = await post(`/api/conversations/${id}/messages`, body, {"Idempotency-Key": key});
            const said = await reply.json();
            const id_or_error = said.assistant_message?.request_id ?? JSON.stringify(said);
            return [reply.status, id_or_error, reply.headers.get("Idempotent-Replayed")];
          };
          return await Promise.all([send(), send(), send()]);
        }"""
    )
    assert {status for status, _, _ in replies} == {201}, replies
    assert len({request_id for _, request_id, _ in replies}) == 1
    assert sorted(str(is_repeat) for _, _, is_repeat in replies) == ["None", "true", "true"]


def test_the_view_follows_the_branch_that_an_edited_message_begins(page: Page) -> None:
    look_inside(page)
    inspector = page.get_by_role("complementary", name="Inspector")
    before = inspector.get_by_role("link", name="Open as a page").get_attribute("href")
    page.get_by_test_id("user-message").first.hover()
    page.get_by_role("button", name="Edit").first.press("Enter")
    page.keyboard.type(" Or twice.")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("user-message")).to_have_text(["Once only. Or twice."])
    expect(page.get_by_test_id("composer")).to_be_focused()
    expect(page.get_by_text("2/2")).to_be_visible()
    wait_until_written(page)
    expect(page.get_by_test_id("assistant-message")).to_have_count(1)
    expect(page.get_by_test_id("assistant-message")).to_be_in_viewport()
    expect(inspector.get_by_role("link", name="Open as a page")).not_to_have_attribute("href", before or "")
    # The list has the chat on top, under the title that it had.
    expect(titles(page).first).to_have_accessible_name(re.compile("^Once only"))
    inspector.get_by_role("button", name="Close", exact=True).click()


WATCH = """() => {
  window.lengths = [];
  const look = () => {
    const answer = document.querySelector('[data-testid="assistant-message"]');
    if (answer) lengths.push(answer.textContent.length);
  };
  new MutationObserver(look).observe(document, {childList: true, subtree: true, characterData: true});
}"""
"""How much of the first answer stood on the page at each of its changes."""


_STOP = "() => [...document.querySelectorAll('button')].find((each) => each.textContent.trim() === 'Stop')?.click()"
"""It may have ended by itself in this moment."""


def test_a_reload_in_mid_stream_begins_with_the_answer_so_far_and_the_open_panel(page: Page) -> None:
    page.add_init_script(f"({WATCH})()")
    page.get_by_role("link", name="New chat").first.click()
    write(page, "Write a very long story about a lighthouse, with many chapters.")
    answer = page.get_by_test_id("assistant-message")
    expect(answer).to_contain_text(re.compile("(.|\\n){60}"), timeout=30_000)
    look_inside(page)
    open_tab(page, "Tokens")
    address = page.url
    page.reload()
    expect(page.get_by_role("tab", name="Tokens")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("token").first).to_be_visible()
    lengths = page.evaluate("lengths")
    assert min(lengths) >= 60, lengths[:5]
    assert lengths == sorted(lengths)

    page.get_by_role("link", name="Traces").first.click()
    expect(page).to_have_title(re.compile("Traces"))
    page.go_back()
    expect(page.get_by_role("tab", name="Tokens")).to_have_attribute("aria-selected", "true")
    expect(answer).to_contain_text(re.compile("(.|\\n){60}"))
    page.go_forward()
    page.go_back()
    expect(page).to_have_url(address)
    expect(page.get_by_role("tab", name="Tokens")).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Close", exact=True).click()
    page.reload()
    expect(answer).not_to_be_empty()
    expect(page.get_by_role("tab", name="Tokens")).to_have_count(0)
    page.evaluate(_STOP)
    wait_until_written(page)


def test_code_in_an_answer_is_code_and_its_tokens_are_found_in_it(page: Page) -> None:
    page.get_by_role("link", name="New chat").first.click()
    expect(page.get_by_test_id("user-message")).to_have_count(0)
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Form of the answer").select_option("regex")
    dialog.get_by_role("textbox", name="Regular expression").fill(r"```python\nprint\(1 < 2\)\n```\nDone\.")
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)
    write(page, "Show me some code.")
    wait_until_written(page)
    expect(page.get_by_test_id("assistant-message").locator("pre code.language-python")).to_have_text("print(1 < 2)\n")
    look_inside(page)
    open_tab(page, "Tokens")
    page.get_by_test_id("token").filter(has_text="print").first.hover()
    marked = "() => [...(CSS.highlights.get('linked-token') ?? [])].map((range) => `${range}`)"
    page.wait_for_function(f"({marked})().includes('print')")
    page.get_by_role("button", name="Close", exact=True).click()
    page.wait_for_function(f"({marked})().length === 0")


def test_a_lost_connection_is_told_until_it_is_back(page: Page) -> None:
    banner = page.get_by_role("main").get_by_role("status").filter(has_text="You are offline")
    page.context.set_offline(True)
    expect(banner).to_have_text("You are offline. You can send messages when the connection is back.")
    write(page, "From the island.")
    expect(unsent(page)).to_have_count(1)
    page.context.set_offline(False)
    expect(banner).to_have_count(0)
    unsent(page).get_by_role("button", name="Try again").press("Enter")
    expect(unsent(page)).to_have_count(0)
    wait_until_written(page)


def test_the_next_user_of_the_tab_finds_nothing_of_the_last(page: Page, product: Running) -> None:
    make = "from django.contrib.auth.models import User; User.objects.create_superuser('bob', password='lantern-room')"
    product.manage("shell", "--no-imports", "-c", make)
    page.get_by_role("link", name="New chat").first.click()
    page.context.set_offline(True)
    write(page, "A secret that was not sent.")
    page.get_by_test_id("composer").fill("A secret draft")
    expect(unsent(page).get_by_role("alert")).to_be_visible()
    page.context.set_offline(False)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("bob")
    page.get_by_label("Password").fill("lantern-room")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("composer")).to_have_value("")
    expect(page.get_by_text("bob", exact=True)).to_be_visible()
    expect(unsent(page)).to_have_count(0)
    assert page.evaluate("() => Object.keys(sessionStorage)") == []
