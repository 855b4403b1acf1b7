"""A stream ends with the session that opened it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.sign_in import sign_in_by_link
from tests.webapp.lifecycle.stream.conftest import Site
from webapp.lifecycle.stream.session import CHECK_S

pytestmark = pytest.mark.slow

_CLOSE = "from django.contrib.auth.models import User; User.objects.filter(username='carol').update(is_active=False)"
_OPEN = (
    "from django.contrib.auth.models import User; from django.core.management import call_command;"
    "User.objects.update_or_create(username='carol', defaults={'is_active': True});"
    "call_command('signin_link', user='carol')"
)
_FORGET = "from webapp.identity.accounts.models import Session; Session.objects.all().delete()"
_REACH_LIMIT = (
    "from django.utils import timezone; from webapp.identity.accounts.models import Session;"
    "Session.objects.update(expire_date=timezone.now())"
)


def sign_out(site: Site) -> None:
    site.sign_out()


def close_account(site: Site) -> None:
    site.manage("shell", "--no-imports", "-c", _CLOSE)


def end_session(site: Site) -> None:
    site.manage("shell", "--no-imports", "-c", _FORGET)


def reach_limit(site: Site) -> None:
    """The time without use is over, or the longest time: both are kept as one moment."""
    site.manage("shell", "--no-imports", "-c", _REACH_LIMIT)


@pytest.fixture
def carol(site: Site) -> Iterator[Site]:
    site.client.cookies.clear()
    sign_in_by_link(site.client, site.manage("shell", "--no-imports", "-c", _OPEN).strip())
    site.forget_open_requests()
    yield site
    site.client.cookies.clear()
    site.sign_in()


@contextmanager
def written_on(site: Site, request_id: str) -> Iterator[None]:
    """An answer goes on and on meanwhile."""
    is_over = threading.Event()

    def write() -> None:
        while not is_over.wait(0.05):
            site.write(request_id, ["more"])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        is_over.set()
        writer.join()


ENDS = [sign_out, close_account, end_session, reach_limit]


def test_a_stream_is_checked_well_within_five_seconds() -> None:
    assert CHECK_S <= 3


@pytest.mark.parametrize("end", ENDS)
def test_server_sent_events_end_with_the_session(carol: Site, end: Callable[[Site], None]) -> None:
    request_id = carol.request()
    with written_on(carol, request_id):
        with carol.client.stream("GET", f"/api/requests/{request_id}/events") as response:
            lines = response.iter_lines()
            next(lines)
            end(carol)
            rest = list(lines)
        assert "event: end" not in rest  # the answer goes on, for others
        refused = carol.client.get(f"/api/requests/{request_id}/events")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "not_signed_in")


@pytest.mark.parametrize("end", ENDS)
def test_a_websocket_ends_with_the_session(carol: Site, end: Callable[[Site], None]) -> None:
    request_id, received = carol.request(), []
    with (
        connect(
            f"ws://{carol.host}/events",
            origin=f"http://{carol.host}",  # type: ignore[arg-type]
            additional_headers={"Cookie": carol.cookie},
            max_queue=None,  # a full queue loses what comes before the close
        ) as connection,
        written_on(carol, request_id),
    ):
        connection.send(json.dumps({"type": "follow", "tag": 7, "request_id": request_id, "after": 0}))
        connection.recv(timeout=60)
        end(carol)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                # No acknowledgement: one that comes after the close resets the connection, and messages are lost.
                received.append(json.loads(connection.recv(timeout=60)))
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4403
    assert (received[-1]["tag"], received[-1]["error"]["code"]) == (7, "not_signed_in")


def test_a_websocket_that_follows_nothing_ends_too(carol: Site) -> None:
    with connect(
        f"ws://{carol.host}/events",
        origin=f"http://{carol.host}",  # type: ignore[arg-type]
        additional_headers={"Cookie": carol.cookie},
    ) as connection:
        sign_out(carol)
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4403
