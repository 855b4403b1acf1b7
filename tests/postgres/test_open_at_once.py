"""The limit of open requests holds under POSTs that really come at once, on both databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from threading import Barrier
from typing import Any

import httpx
import pytest

from tests.faults.conftest import Processes
from webapp.requests.models import MAX_IN_FLIGHT

NUM_SENDERS = 14


def post_at_once(
    running: Processes, bodies: list[dict[str, Any]], callers: Sequence[httpx.Client] = ()
) -> list[httpx.Response]:
    """Each to a conversation of its own, over a connection of its own, when all are ready. callers: take turns."""
    ready = Barrier(len(bodies))
    clients = list(islice(cycle(callers or [running.client]), len(bodies)))
    paths = [f"/api/conversations/{each.post('/api/conversations', json={}).json()['id']}/messages" for each in clients]

    def post(path: str, body: dict[str, Any], client: httpx.Client) -> httpx.Response:
        with httpx.Client(base_url=client.base_url, cookies=client.cookies, headers=client.headers, timeout=60) as own:
            own.get("/healthz")
            ready.wait(30)
            return own.post(path, json=body)

    with ThreadPoolExecutor(len(bodies)) as senders:
        return list(senders.map(post, paths, bodies, clients))


def begun(answers: list[httpx.Response]) -> list[str]:
    """The ids of the requests."""
    sent = [answer.json() for answer in answers if answer.status_code == 201]
    return [message["request_id"] for each in sent for message in (each["assistant_message"], *each["siblings"])]


@pytest.mark.parametrize("n", [1, 3])
def test_no_more_are_open_than_one_user_may_have(running: Processes, n: int) -> None:
    """n answers begin together or not at all; what ends makes room."""
    answers = post_at_once(running, [{"text": "Hello", "n": n}] * NUM_SENDERS)
    num_begun = MAX_IN_FLIGHT // n
    assert Counter(answer.status_code for answer in answers) == {201: num_begun, 429: NUM_SENDERS - num_begun}
    refused = {answer.json()["error"]["code"] for answer in answers if answer.status_code == 429}
    assert refused == {"too_many_requests"}
    ids = begun(answers)
    assert len(set(ids)) == num_begun * n
    for request_id in ids:
        running.cancel(request_id)
        assert running.settled(request_id)["status"] == "stopped"


def test_two_answers_in_step_mode_are_the_most_also_at_once(running: Processes) -> None:
    answers = post_at_once(running, [{"text": "Hello", "is_stepped": True}] * 6)
    assert Counter(answer.status_code for answer in answers) == {201: 2, 429: 4}
    for request_id in begun(answers):
        running.cancel(request_id)
