"""A flood of guesses against a running site."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.webapp.lifecycle.stream.conftest import Site
from webapp.identity.accounts.throttle import MAX_FAILURES

pytestmark = pytest.mark.slow

NUM_CLIENTS = 20
NUM_GUESSES = 120


def guess(site: Site, password: str) -> httpx.Response:
    with httpx.Client(base_url=f"http://{site.host}", timeout=120) as client:
        client.get("/accounts/login/")
        form = {"username": "carol", "password": password, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        return client.post("/accounts/login/", data=form)


def test_a_flood_of_guesses_finds_nothing_and_leaves_the_site_to_others(site: Site) -> None:
    make = "from django.contrib.auth.models import User; User.objects.create_user('carol', password='deep blue sea')"
    site.manage("shell", "--no-imports", "-c", make)
    with ThreadPoolExecutor(NUM_CLIENTS) as clients:
        statuses = [clients.submit(lambda n: guess(site, f"guess {n}").status_code, n) for n in range(NUM_GUESSES)]
        while not all(status.done() for status in statuses):
            assert site.client.get("/api/session").status_code == 200
    counted = Counter(status.result() for status in statuses)
    assert set(counted) <= {200, 429}
    assert counted[200] <= MAX_FAILURES
    while (answer := guess(site, "wrong")).status_code == 200:  # refused for want of a place, most were never checked
        counted[200] += 1
    assert counted[200] == MAX_FAILURES
    assert guess(site, "deep blue sea").status_code == answer.status_code == 429
