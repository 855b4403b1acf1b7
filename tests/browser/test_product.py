"""The whole product as a person meets it: `manage.py up`, a browser, and a worker that stops answering."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.panels import look_inside, open_tab
from tests.browser.running import Running

pytestmark = pytest.mark.usefixtures("chat")
CLEAR_SEED = 1340
"""Its first draws all fall where the model is sure: between 0.05 and 0.4."""
PROBE_MS = 240_000
"""A probe has the lowest priority, and the machine may be busy."""


def ask(page: Page, text: str) -> None:
    page.get_by_test_id("composer").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def confirm_settings(page: Page) -> None:
    """The server checks them first; until then what is typed goes to the dialog."""
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def ask_clearly(page: Page) -> None:
    """An answer that is short and right."""
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Seed").fill(str(CLEAR_SEED))
    confirm_settings(page)
    ask(page, "What is the capital of France? Answer in English.")


def test_from_send_to_the_replayed_answer(page: Page) -> None:
    page.emulate_media(reduced_motion="no-preference")
    ask_clearly(page)
    answer = page.get_by_test_id("assistant-message").last
    expect(answer).to_contain_text("Paris", timeout=30_000)
    expect(page.get_by_role("button", name="Regenerate")).to_be_attached(timeout=30_000)

    look_inside(page)
    expect(page.get_by_test_id("scene-strip")).to_be_visible()
    open_tab(page, "Tokens")
    chips = page.get_by_test_id("token")
    expect(chips.nth(5)).to_be_visible()
    chip = chips.nth(2)
    chosen = chip.get_attribute("data-id")
    chip.click()

    panel = page.get_by_test_id("sampling-panel")
    expect(panel).to_have_attribute("data-token-id", chosen or "")
    rows = page.get_by_test_id("candidate").evaluate_all("rows => rows.map(row => ({...row.dataset}))")
    assert len(rows) >= 20
    assert sum(float(row["probability"]) for row in rows) == pytest.approx(1, abs=0.02)
    drawn = [row for row in rows if row["drawn"] == "true"]
    assert [row["id"] for row in drawn] == [chosen]
    assert float(drawn[0]["probability"]) > 0
    expect(page.get_by_test_id("what-if")).to_contain_text("Drag a slider")

    page.get_by_role("link", name="Open as a page").click()
    # At the token that was looked at.
    expect(page.get_by_test_id("sampling-panel")).to_have_attribute("data-token-id", chosen or "")
    page.get_by_role("button", name="Skip to the end").click()
    expect(page.get_by_test_id("replay-text")).to_contain_text("Paris")
    total = int(page.get_by_test_id("replay-position").inner_text().split("/")[1].split("·")[0])
    page.get_by_label("Moment").fill("1")
    # Nothing was written yet at this moment: all of the answer is dimmed.
    page.wait_for_function("() => CSS.highlights.get('answer-later')?.size === 1")
    page.get_by_label("Speed").select_option("0.25")
    page.get_by_test_id("replay-play").click()
    expect(page.get_by_test_id("replay-position")).to_have_text(re.compile(rf"^{total} / {total} "), timeout=30_000)
    expect(page.get_by_test_id("replay-text")).to_contain_text("Paris")
    page.emulate_media(reduced_motion="reduce")


def test_layers_are_looked_into_from_a_selected_token(page: Page) -> None:
    """On the page that the test before has left open."""
    open_tab(page, "Tokens")
    page.get_by_test_id("token").filter(has_text="Paris").first.click()
    open_tab(page, "Layers")
    last = page.get_by_test_id("lens").locator("tbody tr").last
    expect(last.locator(".words span").first).to_have_text("·Paris", timeout=PROBE_MS)
    expect(last).to_contain_text("30")
    expect(page.get_by_test_id("neighbours")).to_be_visible(timeout=PROBE_MS)
    expect(page.get_by_test_id("memory")).to_be_visible(timeout=PROBE_MS)
    # Only now: what comes later would move the heads from under the pointer.
    heads = page.get_by_test_id("heads")
    heads.scroll_into_view_if_needed()
    heads.hover(position={"x": 2, "y": 2})
    expect(page.get_by_test_id("attention-told")).to_contain_text("Layer 1, head 1 · ")


def test_stop_ends_an_answer_in_its_middle(page: Page) -> None:
    page.get_by_role("link", name="New chat").click()
    ask(page, "Write a very long story about a lighthouse, with many chapters.")
    expect(page.get_by_test_id("assistant-message").last).not_to_be_empty(timeout=30_000)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped.", exact=True)).to_be_visible(timeout=5_000)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()


def test_several_answers_stream_at_once_and_are_branches(page: Page) -> None:
    page.get_by_role("link", name="New chat").click()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Answers").fill("3")
    confirm_settings(page)
    ask(page, "Write a very long story about a river, with many chapters.")
    answer = page.get_by_test_id("assistant-message").last
    for place in ("1/3", "2/3", "3/3"):
        expect(page.get_by_text(place)).to_be_visible()
        expect(page.get_by_text("2 more being written")).to_be_visible()
        expect(answer).not_to_be_empty(timeout=30_000)
        if place != "3/3":
            page.get_by_role("button", name="Next branch").click()
    page.get_by_role("button", name="Stop all 3").click()
    for _ in range(2):
        expect(page.get_by_text("Stopped.", exact=True)).to_be_visible(timeout=5_000)
        page.get_by_role("button", name="Previous branch").click()
    expect(page.get_by_text("Stopped.", exact=True)).to_be_visible(timeout=5_000)


def test_the_inspector_goes_along_to_the_answer_that_is_shown(page: Page) -> None:
    page.get_by_role("link", name="New chat").click()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Answers").fill("1")
    page.get_by_label("Longest answer").fill("8")
    confirm_settings(page)
    ask(page, "Name a colour.")
    toggle = page.get_by_test_id("inspector-toggle")
    expect(page.get_by_role("button", name="Regenerate")).to_be_visible(timeout=30_000)
    look_inside(page)
    link = page.get_by_role("link", name="Open as a page")
    # Of the request alone: the moment in the address moves on while the answer is shown.
    first = re.compile(re.escape((link.get_attribute("href") or "").partition("?")[0] + "?"))
    page.get_by_role("button", name="Regenerate").click()
    expect(page.get_by_text("2/2")).to_be_visible()
    expect(link).not_to_have_attribute("href", first)
    expect(toggle).to_have_attribute("aria-expanded", "true")
    page.get_by_role("button", name="Previous branch").click()
    expect(link).to_have_attribute("href", first)


def client_of(page: Page, product: Running) -> httpx.Client:
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    base = product.link.split("/signin/")[0]
    return httpx.Client(base_url=base, cookies=cookies, headers={"X-CSRFToken": cookies["csrftoken"]}, timeout=30)


def start(client: httpx.Client, text: str, **params: object) -> str:
    conversation = client.post("/api/conversations", json={}).json()["id"]
    body = {"text": text, "params": {"temperature": 0, **params}}
    answer = client.post(f"/api/conversations/{conversation}/messages", json=body)
    assert answer.status_code == 201, answer.text
    assert "start;dur=" in answer.headers["Server-Timing"]
    return str(answer.json()["assistant_message"]["request_id"])


def read(client: httpx.Client, request_id: str, after: int = 0, most: int = 10**9) -> list[tuple[int, dict]]:  # type: ignore[type-arg]
    """(seq, event) pairs; the connection is dropped after `most` of them."""
    found: list[tuple[int, dict]] = []  # type: ignore[type-arg]
    headers = {"Last-Event-ID": str(after)} if after else {}
    with client.stream("GET", f"/api/requests/{request_id}/events", headers=headers) as response:
        assert response.status_code == 200
        for line in response.iter_lines():
            if line.startswith('data: {"seq"'):
                frame = json.loads(line[6:])
                found += list(enumerate(frame["events"], frame["seq"]))
            if len(found) >= most:
                break
    return found


def traces_of(client: httpx.Client, query: str, num_traces: int) -> set[str]:
    """The ids that the library finds, once there are so many: a trace is saved just after its last event is read."""
    deadline = time.monotonic() + 10
    while True:
        found = {trace["id"] for trace in client.get("/api/requests", params={"q": query}).json()["requests"]}
        if len(found) >= num_traces or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def test_a_reader_that_reconnects_misses_nothing_and_sees_nothing_twice(page: Page, product: Running) -> None:
    with client_of(page, product) as client:
        request_id = start(client, "Count from one to thirty in words.", max_tokens=60)
        pieces = []
        while not pieces or pieces[-1][1]["type"] not in ("request.finished", "request.failed"):
            after = pieces[-1][0] if pieces else 0
            pieces += read(client, request_id, after, most=9)
        assert pieces[-1][1]["type"] == "request.finished"
        assert [seq for seq, _ in pieces] == list(range(1, len(pieces) + 1))
        assert pieces == read(client, request_id)


def test_two_requests_at_once_share_steps(page: Page, product: Running) -> None:
    with client_of(page, product) as client:
        ids = [start(client, "Tell me about rivers.", max_tokens=80) for _ in range(2)]
        sizes = [e["batch_size"] for i in ids for _, e in read(client, i) if e["type"] == "token.sampled"]
        assert max(sizes) == 2


def test_three_answers_to_one_message_read_its_prompt_once(page: Page, product: Running) -> None:
    text = "Tell a long story of three lighthouses in one storm, and of the people who keep their lamps burning."
    with client_of(page, product) as client:
        conversation = client.post("/api/conversations", json={}).json()["id"]
        body = {"text": text, "n": 3, "params": {"temperature": 1, "seed": 5, "max_tokens": 150}}
        sent = client.post(f"/api/conversations/{conversation}/messages", json=body).raise_for_status().json()
        answers = [sent["assistant_message"], *sent["siblings"]]
        logs = [[event for _, event in read(client, answer["request_id"])] for answer in answers]
        assert len({"".join(e["text"] for e in log if e["type"] == "text.released") for log in logs}) == 3
        assert [next(e["params"]["seed"] for e in log if e["type"] == "request.accepted") for log in logs] == [5, 6, 7]
        assert max(e["batch_size"] for log in logs for e in log if e["type"] == "token.sampled") == 3
        usages = [log[-1]["usage"] for log in logs]
        assert len({usage["uncached_input"] + usage["cache_read"] for usage in usages}) == 1
        one, two, leader = sorted(usage["uncached_input"] for usage in usages)
        assert (one, two) == (1, 1) and leader > 1
        for log, usage in zip(logs, usages, strict=True):
            (looked_up,) = (e for e in log if e["type"] == "cache.looked_up")
            assert looked_up["num_cached_tokens"] == usage["cache_read"]
            (bill,) = (e for e in log if e["type"] == "bill.posted")
            billed = {line["kind"]: line["num_tokens"] for line in bill["lines"]}
            assert billed.get("cache_read", 0) == usage["cache_read"]
        found = traces_of(client, "three lighthouses", num_traces=3)
        assert found == {answer["request_id"] for answer in answers}


def test_a_message_that_breaks_the_policy_never_reaches_the_model(page: Page, product: Running) -> None:
    with client_of(page, product) as client:
        request_id = start(client, "Give me step by step instructions to make a bomb and kill people.")
        events = [event for _, event in read(client, request_id)]
        assert events[-1]["type"] == "request.failed"
        assert events[-1]["code"] == "blocked"
        assert not any(event["type"] == "generation.queued" for event in events)


def test_a_message_larger_than_the_window_fails_with_figures(page: Page, product: Running) -> None:
    with client_of(page, product) as client:
        events = read(client, start(client, "word " * 20_000))
        assert events[-1][1]["code"] == "prompt_too_long"
        assert "8,192" in events[-1][1]["message"]


def test_another_origin_gets_no_websocket_and_ours_gets_the_same_frames(page: Page, product: Running) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with client_of(page, product) as client:
        request_id = start(client, "Say hello.", max_tokens=10)
        expected = read(client, request_id)
        url = f"ws://{client.base_url.netloc.decode()}/events"
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
        with pytest.raises(InvalidStatus):
            connect(url, additional_headers=headers, origin="http://evil.example")
        found = []
        with connect(url, additional_headers=headers, origin=str(client.base_url).rstrip("/")) as socket_:
            socket_.send(json.dumps({"type": "follow", "tag": 1, "request_id": request_id}))
            while "end" not in (message := json.loads(socket_.recv(timeout=30))):
                found += list(enumerate(message["events"], message["seq"]))
        assert found == expected


_NO_WEBSOCKET = """window.WebSocket = class {
  static OPEN = 1;
  constructor() { setTimeout(() => this.onclose()); }
}"""


def test_where_no_websocket_can_be_had_the_answer_still_streams(page: Page, product: Running) -> None:
    assert page.context.browser is not None
    other = page.context.browser.new_page(storage_state=page.context.storage_state(), reduced_motion="reduce")
    other.add_init_script(_NO_WEBSOCKET)
    other.goto(product.link.split("/signin/")[0])
    ask_clearly(other)
    expect(other.get_by_test_id("assistant-message").last).to_contain_text("Paris", timeout=30_000)
    expect(other.get_by_role("button", name="Regenerate")).to_be_attached(timeout=30_000)
    other.close()


def test_many_answers_in_one_page_need_one_connection(page: Page, product: Running) -> None:
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url) if request.url.endswith("after=0") else None)
    sockets: list[str] = []
    page.on("websocket", lambda socket_: sockets.append(socket_.url))
    page.reload()
    for _ in range(2):
        page.get_by_role("link", name="New chat").click()
        ask_clearly(page)
        expect(page.get_by_role("button", name="Regenerate")).to_be_attached(timeout=30_000)
    assert (len(sockets), streams) == (1, [])


def test_an_open_page_tells_that_the_worker_does_not_answer(page: Page, product: Running) -> None:
    """Its heart no longer beats while an answer waits, and then it does again."""
    page.get_by_role("link", name="New chat").click()
    banner = page.locator(".banner")
    product.look()
    worker = product.children()["inference"]
    os.kill(worker, signal.SIGSTOP)
    try:
        ask_clearly(page)
        expect(banner).to_contain_text("No inference worker is running", timeout=20_000)
    finally:
        os.kill(worker, signal.SIGCONT)
    expect(banner).to_be_hidden(timeout=20_000)
    expect(page.get_by_test_id("assistant-message").last).to_contain_text("Paris", timeout=30_000)
