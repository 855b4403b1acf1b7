"""A file that is imported twice at the same instant is one trace, on both databases."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx

from benchmarks.synthetic_trace import trace_file
from tests.faults.conftest import Processes

NUM_SENDERS = 6


def test_the_same_file_at_once_is_one_trace(running: Processes) -> None:
    client, ready, data = running.client, Barrier(NUM_SENDERS), trace_file(64)

    def import_(_: int) -> httpx.Response:
        with httpx.Client(base_url=client.base_url, cookies=client.cookies, headers=client.headers, timeout=60) as own:
            own.get("/healthz")
            ready.wait(30)
            while True:
                answer = own.post("/api/requests/import", files={"file": ("a.sgtrace", data)})
                if answer.status_code != 429:  # another import of this user is under way
                    return answer

    with ThreadPoolExecutor(NUM_SENDERS) as senders:
        answers = list(senders.map(import_, range(NUM_SENDERS)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: NUM_SENDERS - 1}
    assert len({answer.json()["requests"][0]["id"] for answer in answers}) == 1
