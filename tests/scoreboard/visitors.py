"""Many signed-in users of a site, each with a conversation. Knows nothing of what they do."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import httpx

from tests.faults.conftest import Processes
from tests.scoreboard.model import NONSENSE
from tests.scoreboard.reader import Reading, read

_TOKEN = "t" * 32
"""Cookie and header have it alike, as Django asks."""
_SIGN_IN = """
import json
from django.contrib.auth.models import User
from django.test import Client
from webapp.usage.limits.models import Rule
found = []
for number in range({num}):
    user = User.objects.create(username="{name}-%d" % number)
    if {max_open}:
        Rule.objects.create(user=user, max_open={max_open})
    client = Client()
    client.force_login(user)
    found.append([user.pk, client.cookies["sessionid"].value])
print(json.dumps(found))
"""
MOST_S = 20.0
"""A first token that takes longer counts as one of this time."""


@dataclass
class Visitor:
    """One user of the site."""

    address: str
    user_id: int
    session: str
    client: httpx.Client = field(repr=False)

    @property
    def cookies(self) -> httpx.Cookies:
        return httpx.Cookies({"sessionid": self.session, "csrftoken": _TOKEN})

    @property
    def headers(self) -> dict[str, str]:
        """What each call needs: one client serves many users."""
        return {"Cookie": f"sessionid={self.session}; csrftoken={_TOKEN}", "X-CSRFToken": _TOKEN}

    @cached_property
    def conversation(self) -> str:
        answer = self.client.post("/api/conversations", json={}, headers=self.headers)
        return str(answer.raise_for_status().json()["id"])

    def send(self, client: httpx.Client, text: str, **params: object) -> httpx.Response:
        """Begin an answer, beside those that the conversation has."""
        body = {"text": text, "parent_id": None, "params": NONSENSE | params}
        return client.post(f"/api/conversations/{self.conversation}/messages", json=body, headers=self.headers)

    def first_token_s(self, text: str, **params: object) -> float:
        """The time from the call to the first token of the answer, which is read to its end; MOST_S at most."""
        began = time.monotonic()
        reading = Reading(request_of(self.send(self.client, text, **params)))
        read(httpx.URL(self.address), self.cookies, reading, began + MOST_S)
        if not reading.is_over:
            self.cancel(reading.request_id)
        arrived = (frame.at for frame in reading.frames if any(e["type"] == "token.sampled" for e in frame.events))
        return next(arrived, began + MOST_S) - began

    def is_open(self, request_id: str) -> bool:
        """Return whether the request is not settled."""
        answer = self.client.get(f"/api/requests/{request_id}", headers=self.headers)
        return answer.raise_for_status().json()["status"] in ("queued", "running")

    def cancel(self, request_id: str) -> None:
        self.client.post(f"/api/requests/{request_id}/cancel", headers=self.headers).raise_for_status()


def request_of(answer: httpx.Response) -> str:
    """The id of the request that a call began."""
    return str(answer.raise_for_status().json()["assistant_message"]["request_id"])


def visitors(site: Processes, num: int, name: str = "visitor", max_open: int = 0) -> Sequence[Visitor]:
    """Add users. max_open: their limit of open requests; 0: the product's own."""
    code = _SIGN_IN.format(num=num, name=name, max_open=max_open)
    told = site.manage("shell", "--no-imports", "-c", code).strip().splitlines()[-1]
    address = str(site.client.base_url)
    return [Visitor(address, user_id, key, httpx.Client(base_url=address, timeout=60))
            for user_id, key in json.loads(told)]  # fmt: skip
