"""Of two owners who leave their group really at once, one stays: over HTTP, on both databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
import pytest

from tests.faults.conftest import Processes
from tests.sign_in import sign_in_by_link

NAMES = ("una", "uwe")
ROUNDS = 5
_NEW_GROUP = f"""
from django.contrib.auth.models import Group, User
group, _ = Group.objects.get_or_create(name='two owners')
for name in {NAMES!r}:
    user, _ = User.objects.get_or_create(username=name)
    user.groups.add(group)
print(group.pk, *User.objects.filter(username__in={NAMES!r}).values_list('pk', flat=True))
"""


@pytest.fixture
def owners(running: Processes) -> Iterator[list[httpx.Client]]:
    """A client of each, signed in."""
    running.manage("shell", "-c", _NEW_GROUP)
    clients = [httpx.Client(base_url=running.client.base_url, timeout=60) for _ in NAMES]
    for client, name in zip(clients, NAMES, strict=True):
        sign_in_by_link(client, running.manage("signin_link", "--user", name).strip())
    yield clients
    for client in clients:
        client.close()


def test_one_of_two_owners_stays(running: Processes, owners: list[httpx.Client]) -> None:
    for _ in range(ROUNDS):
        group, *ids = running.manage("shell", "-c", _NEW_GROUP).split()[-3:]
        for user in ids:
            path = f"/api/groups/{group}/people/{user}"
            assert running.client.patch(path, json={"role": "owner"}).status_code == 200
        ready = Barrier(len(owners))

        def leave(client: httpx.Client, path: str = f"/api/account/groups/{group}", ready: Barrier = ready) -> int:
            ready.wait(30)
            return client.delete(path).status_code

        with ThreadPoolExecutor(len(owners)) as threads:
            assert Counter(threads.map(leave, owners)) == {204: 1, 409: 1}
        people = running.client.get(f"/api/groups/{group}/people").json()["people"]
        assert [person["role"] for person in people] == ["owner"]
