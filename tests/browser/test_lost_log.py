"""A page whose request's log was lost in mid-answer begins again, and shows the answer as it then is."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import psutil
import redis
from playwright.sync_api import Page, WebSocket, expect

from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import GenerationQueued
from tests.browser.running import Running
from tests.browser.waiting import wait_until
from tests.lost_logs import lose


def write_anew(product: Running, request_id: str) -> None:
    """Take the log's last frames away, and write another in their place: its worker cannot put them back."""
    worker = product.children()["inference"]
    client = redis.Redis.from_url(psutil.Process(worker).environ()["SIGHTGLASS_REDIS_URL"])
    log = RedisEventLog(client)
    os.kill(worker, signal.SIGSTOP)
    try:
        lose(log, request_id, len(log.entries(request_id)) - 3, client)
        log.append(request_id, [GenerationQueued(at=0, attempt=1, queue_depth=None)], 1)
    finally:
        os.kill(worker, signal.SIGCONT)
        client.close()


def test_a_page_begins_again_where_the_log_was_lost_and_shows_the_whole_answer(page: Page, product: Running) -> None:
    product.look()
    received: list[dict[str, Any]] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda payload: received.append(json.loads(payload)))

    page.on("websocket", listen)
    page.goto(product.link.partition("/signin")[0])
    page.get_by_test_id("composer").fill("Write a long story about a river and its boats.")
    with page.expect_response(lambda response: response.url.endswith("/messages")) as sent:
        page.keyboard.press("Enter")
    request_id = sent.value.json()["assistant_message"]["request_id"]
    wait_until(page, lambda: sum("text.released" in json.dumps(message) for message in received) >= 4)
    write_anew(product, request_id)
    expect(page.get_by_role("button", name="Regenerate")).to_be_attached(timeout=120_000)
    assert sum("again" in message for message in received) == 1
    path = f"{product.link.partition('/signin')[0]}/api/requests/{request_id}/export?format=json"
    frames = page.request.get(path).json()["trace"]["frames"]
    events = [event for frame in frames for event in frame["events"]]
    assert "generation.resumed" in [event["type"] for event in events]
    text = "".join(event["text"] for event in events if event["type"] == "text.released")
    shown = page.get_by_test_id("assistant-message").last.locator("p").first.inner_text()
    assert text.strip().startswith(shown[:200])
