"""Running a saved request again and comparing traces, in a real browser on the real model."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from benchmarks.synthetic_trace import trace_file
from tests.browser.running import Running, post
from tests.browser.visiting import visit
from tests.browser.waiting import wait_until

QUESTION = "Name a few things that one finds at the sea."


@pytest.fixture(scope="module")
def base(product: Running) -> str:
    return product.link.partition("/signin/")[0]


@pytest.fixture(scope="module")
def request_id(page: Page, base: str) -> str:
    """A saved request whose seed was drawn."""
    conversation = post(page, base, "/api/conversations", {})["id"]
    params = {"temperature": 1.2, "top_p": 1, "max_tokens": 24}
    sent = post(page, base, f"/api/conversations/{conversation}/messages", {"text": QUESTION, "params": params})
    found = str(sent["assistant_message"]["request_id"])
    visit(page, f"{base}/requests/{found}")
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    return found


def run_again(page: Page, base: str, request_id: str) -> None:
    visit(page, f"{base}/requests/{request_id}")
    page.get_by_role("button", name="Run again").click()


def test_as_it_was_gives_the_very_tokens_again(page: Page, base: str, request_id: str) -> None:
    run_again(page, base, request_id)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_test_id("rerun-sentence")).to_contain_text("token for token", timeout=30_000)
    expect(page.get_by_test_id("rerun-state")).to_have_text("all runs have ended")
    expect(page.get_by_test_id("prompt-note")).to_contain_text("A prompt built today would be the same")
    page.get_by_role("link", name="Compare with the saved request").click()
    expect(page.get_by_test_id("main-difference")).to_contain_text("The same prompt, settings and seed")
    expect(page.get_by_test_id("answers-told")).to_have_text("The answers are the same, token for token.")


@pytest.fixture(scope="module")
def four_runs(page: Page, base: str, request_id: str) -> str:
    """Address of a set with fresh seeds, asked for in the dialog."""
    run_again(page, base, request_id)
    page.get_by_role("radio", name="Several times").check()
    page.get_by_role("spinbutton", name="Runs").fill("4")
    page.get_by_role("button", name="Run 4").click()
    expect(page.get_by_test_id("rerun-state")).to_have_text("all runs have ended", timeout=30_000)
    return page.url


def num_shared(page: Page) -> int:
    """Runs in all groups of equal answers."""
    return sum(int(text.removesuffix("×")) for text in page.locator("li .share b").all_inner_texts())


def test_the_answers_are_grouped_and_part_as_roads(page: Page, four_runs: str) -> None:
    visit(page, four_runs)
    roads = page.get_by_test_id("road-map").locator("[data-road]")
    expect(roads.first).to_be_visible()
    expect(page.get_by_test_id("rerun-progress")).to_have_text("4 of 4 runs ended")
    expect(page.get_by_test_id("left-out")).to_have_count(0)
    wait_until(page, lambda: num_shared(page) == 4)
    roads.first.focus()
    expect(page.get_by_test_id("road-told")).to_contain_text("continued with")
    first = page.get_by_test_id("road-told").inner_text()
    page.keyboard.press("ArrowDown")  # where they part at the first token there is no road to the left of all
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("road-told")).not_to_have_text(first)


def test_two_runs_are_compared_token_by_token(page: Page, four_runs: str) -> None:
    visit(page, four_runs)
    for run in (1, 2):
        page.get_by_role("checkbox", name=f"Compare run {run}").check()
    page.get_by_role("link", name="Compare 2").click()
    expect(page.get_by_test_id("main-difference")).to_contain_text("another seed")
    expect(page.get_by_test_id("prompts-told")).to_contain_text("Both prompts are the same")
    choices = page.get_by_test_id("choices")
    expect(choices).to_contain_text("The first token that differs")
    expect(choices.get_by_text("taken")).to_have_count(2)
    left, right = page.get_by_role("group", name="Answer of A"), page.get_by_role("group", name="Answer of B")
    for side in (left, right):
        expect(side.locator("[aria-pressed=true]")).to_have_count(1)
    left.get_by_role("button").first.click()
    expect(left.locator("[data-index='0']")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowRight")
    expect(left.locator("[data-index='1']")).to_be_focused()
    expect(left.locator("[data-index='1']")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Next difference").first.click()
    expect(page.locator(".walk").first).to_contain_text("of")


def test_the_timelines_share_an_axis(page: Page, base: str, request_id: str) -> None:
    other = post(page, base, f"/api/requests/{request_id}/reruns", {})
    visit(page, f"{base}/reruns/{other['id']}")
    expect(page.get_by_test_id("rerun-state")).to_have_text("all runs have ended", timeout=30_000)
    page.get_by_role("link", name="Compare with the saved request").click()
    plot, shown = page.get_by_test_id("aligned-plot"), page.get_by_test_id("aligned-window")
    expect(shown).to_be_visible()
    page.get_by_role("radio", name="each one's first token").click()
    expect(shown).to_have_text(re.compile("^−.* to "))
    before = shown.inner_text()
    plot.focus()
    page.keyboard.press("w")
    expect(shown).not_to_have_text(before)
    page.keyboard.press("f")
    expect(shown).to_have_text(before)


def test_a_set_is_stopped_and_says_so(page: Page, base: str, request_id: str) -> None:
    body = {"n": 8, "seeds": "fresh", "grid": {"max_tokens": [400], "temperature": [0.5, 1.5]}}
    made = post(page, base, f"/api/requests/{request_id}/reruns", body)
    visit(page, f"{base}/reruns/{made['id']}")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("rerun-state")).to_have_text("stopped", timeout=20_000)
    expect(page.get_by_test_id("rerun-progress")).to_contain_text("16 of 16 runs ended")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


def test_a_stopped_sets_summary_is_of_whole_answers(page: Page, base: str, request_id: str) -> None:
    body = {"n": 3, "seeds": "fresh", "grid": {"max_tokens": [4, 900]}}
    visit(page, f"{base}/reruns/{post(page, base, f'/api/requests/{request_id}/reruns', body)['id']}")
    rows = page.get_by_role("region", name="All runs").get_by_role("row")
    expect(rows.filter(has_text="writing").first).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("rerun-state")).to_have_text("stopped", timeout=20_000)
    expect(page.get_by_test_id("left-out")).to_contain_text("in the middle of an answer")
    whole = rows.filter(has_text=re.compile("length limit|end of turn"))
    expect(page.locator("li .share b")).not_to_have_count(0)
    wait_until(page, lambda: num_shared(page) == whole.count())


def test_what_cannot_be_compared_says_why(page: Page, base: str, request_id: str) -> None:
    visit(page, f"{base}/compare?ids={request_id},{request_id}")
    expect(page.get_by_role("alert")).to_contain_text("twice")
    visit(page, f"{base}/compare?ids={request_id},req_another")
    expect(page.get_by_role("alert")).to_contain_text("does not exist")
    visit(page, f"{base}/reruns/rerun_another")
    expect(page.get_by_role("alert")).to_contain_text("no such set")


def test_rows_of_the_library_are_compared(page: Page, base: str, four_runs: str) -> None:
    """A set is one row that expands; the oldest of what is chosen stands as A, and each column says what it is."""
    rerun_id = four_runs.rpartition("/")[2]
    visit(page, f"{base}/library")
    grouped = page.get_by_role("row").filter(has=page.locator(f"a[href='/reruns/{rerun_id}']"))
    expect(grouped).to_contain_text("4 runs of one set")
    expect(grouped).to_contain_text("4 done")
    expand = grouped.get_by_role("button", name="Expand")
    expand.focus()
    page.keyboard.press("Enter")
    expect(grouped.get_by_role("button", name="Collapse")).to_be_focused()
    runs = page.get_by_role("row").filter(has_text=re.compile("Run [1-4] of 4"))
    expect(runs).to_have_count(4)
    for row in (2, 0):
        runs.nth(row).get_by_role("checkbox").check()
    expect(grouped.get_by_role("checkbox")).to_be_checked(checked=None, indeterminate=True)
    page.get_by_role("region", name="Selected traces").get_by_role("link", name="Compare").click()
    expect(page.get_by_test_id("main-difference")).to_contain_text("ame prompt")
    chosen = page.get_by_role("article", name="Comparison").get_by_role("listitem")
    expect(chosen.nth(0)).to_contain_text(re.compile("^A.*Run 1 of 4"))
    expect(chosen.nth(1)).to_contain_text(re.compile("^B.*Run 3 of 4"))
    heads = page.get_by_role("region", name="Settings, times").get_by_role("columnheader")
    expect(heads.nth(1)).to_have_text("ARun 1")
    expect(heads.nth(2)).to_have_text("BRun 3")


def test_a_set_is_chosen_and_deleted_as_one_and_undone(page: Page, base: str, four_runs: str) -> None:
    rerun_id = four_runs.rpartition("/")[2]
    visit(page, f"{base}/library?surface=replay")
    grouped = page.get_by_role("row").filter(has=page.locator(f"a[href='/reruns/{rerun_id}']"))
    grouped.get_by_role("checkbox").check()
    bar = page.get_by_role("region", name="Selected traces")
    expect(bar.get_by_role("status")).to_have_text("4 traces selected")
    expect(bar.get_by_role("link", name="Compare")).to_have_attribute("href", re.compile("(req_[^,]+,){3}req_"))
    bar.get_by_role("button", name="Delete").click()
    expect(grouped).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(grouped).to_contain_text("4 runs of one set")
    visit(page, f"{base}/library?surface=chat")
    expect(page.get_by_role("button", name="Asked by the chat")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text=QUESTION)).to_have_count(1)


def test_answers_to_one_message_are_told_apart(page: Page, base: str) -> None:
    conversation = post(page, base, "/api/conversations", {})["id"]
    body = {"text": "Name a few colours.", "n": 3, "params": {"temperature": 1.2, "max_tokens": 8, "seed": 40}}
    sent = post(page, base, f"/api/conversations/{conversation}/messages", body)
    ids = [message["request_id"] for message in (sent["assistant_message"], *sent["siblings"])]
    visit(page, f"{base}/library?q=colours&status=done")
    rows = page.get_by_role("row").filter(has_text="Name a few colours.")
    deadline = time.monotonic() + 30
    while rows.count() < 3:
        assert time.monotonic() < deadline, rows.all_inner_texts()
        page.reload()
        page.wait_for_load_state("networkidle")
    for index, _ in enumerate(ids):
        row = rows.filter(has_text=f"Answer {index + 1} of 3")
        expect(row).to_have_count(1)
        row.get_by_role("checkbox").check()
    bar = page.get_by_role("region", name="Selected traces")
    expect(bar.get_by_role("link", name="Compare")).to_have_attribute("href", f"/compare?ids={','.join(ids)}")
    visit(page, f"{base}/c/{conversation}")
    link = page.locator(f"a[href='/compare?ids={','.join(ids)}']")
    expect(link).to_have_count(1)


@pytest.mark.parametrize("width", [360, 390])
def test_a_comparison_is_whole_on_a_phone(page: Page, base: str, four_runs: str, width: int) -> None:
    runs = page.request.get(f"{base}/api{four_runs.removeprefix(base)}").json()["runs"]
    ids = ",".join(run["request"]["id"] for run in runs)
    page.set_viewport_size({"width": width, "height": 800})
    visit(page, f"{base}/compare?ids={ids}")
    expect(page.get_by_test_id("choices")).to_be_visible()
    for summary in page.locator("summary").all():
        summary.click()
    cut = page.evaluate("""() => [...document.querySelectorAll("article *")].filter((element) => {
      const {right, width} = element.getBoundingClientRect();
      return width > 1 && right > innerWidth + 1 && !element.closest(".tokens");
    }).map((element) => element.outerHTML.slice(0, 120))""")
    sideways = page.evaluate("""() => [...document.querySelectorAll("article, article *")]
      .filter((element) => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 1 &&
        /auto|scroll/.test(getComputedStyle(element).overflowX))
      .map((element) => element.outerHTML.slice(0, 120))""")
    assert (cut, sideways) == ([], [])
    page.set_viewport_size({"width": 1360, "height": 860})


def test_traces_are_chosen_and_an_imported_one_fits_a_phone(page: Page, base: str, request_id: str) -> None:
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    file = {"name": "a.sgtrace", "mimeType": "application/octet-stream", "buffer": trace_file(60)}
    headers = {"X-CSRFToken": token, "Referer": base}
    imported = page.request.post(f"{base}/api/requests/import", headers=headers, multipart={"file": file}).json()[
        "requests"
    ][0]["id"]
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, f"{base}/compare?ids={request_id}")
    chosen = page.get_by_role("checkbox", checked=True)
    expect(chosen).to_have_count(1)
    page.get_by_role("searchbox").last.fill("a long answer")
    page.keyboard.press("Enter")
    page.locator("label", has_text="A long answer").get_by_role("checkbox").check()
    page.get_by_role("button", name="Compare 2").click()
    expect(page.get_by_role("article")).to_contain_text("imported")
    expect(page.get_by_test_id("prompts-told")).to_contain_text("differ from token")
    expect(page).to_have_url(re.compile(re.escape(imported)))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1360, "height": 860})
