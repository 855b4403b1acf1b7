"""The web process's log after links were opened shows the visits, without their tokens."""

from __future__ import annotations

import contextlib
import signal

import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.sign_in import sign_in_by_link
from tests.webapp.lifecycle.stream.conftest import Site

pytestmark = pytest.mark.slow

TOKEN = "a-token-that-opens-a-trace"


def test_the_log_of_an_opened_link_does_not_hold_its_token(site: Site) -> None:
    link = site.manage("signin_link").strip()
    sign_in_by_link(site.client, link)
    assert site.client.get(f"/shared/{TOKEN}").status_code == 404
    assert site.client.get(f"/%73hared/{TOKEN}?from={TOKEN}").status_code == 404
    assert site.client.post(f"/shared/{TOKEN}").status_code in (403, 405)
    with contextlib.suppress(WebSocketException, OSError):
        connect(f"ws://{site.host}/shared/{TOKEN}").close()
    assert site.client.get("/healthz?a=b").status_code == 200
    site.child.send(signal.SIGTERM)
    assert site.child.wait(20)
    log = (site.data / "web.log").read_text("utf-8")
    assert "GET /healthz?***" in log
    assert log.count("GET /shared/***") == 2
    assert "POST /shared/***" in log
    assert "WSCONNECTING /shared/***" in log
    assert "GET /signin/***" in log
    assert "POST /signin/***" in log
    assert TOKEN not in log
    assert link.removeprefix("/signin/") not in log
