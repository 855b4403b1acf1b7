"""Signs in by a link as a person does: open it, then press its button."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from playwright.sync_api import Page

_NEW_LINK = """
INSERT INTO accounts_signinlink (token_sha256, expires_at, user_id)
SELECT ?, ?, id FROM auth_user WHERE username = 'admin'
"""


def link_in(database: Path) -> str:
    """Return the path of a new link of the first administrator. A start of `manage.py` for it would take seconds."""
    token = secrets.token_urlsafe(24)
    expires_at = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=10)
    connection = sqlite3.connect(database, timeout=30)
    with connection:
        connection.execute(_NEW_LINK, (hashlib.sha256(token.encode()).hexdigest(), str(expires_at)))
    connection.close()
    return f"/signin/{token}"


def sign_in_by_link(client: httpx.Client, link: str) -> None:
    """Give the client a session, and the token that its later writes need."""
    client.get(link)
    answer = client.post(link, headers={"X-CSRFToken": client.cookies["csrftoken"]}, follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    client.headers["X-CSRFToken"] = client.cookies["csrftoken"]


def press_link(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_role("button").click()
    page.wait_for_url(lambda address: "/signin/" not in address)
