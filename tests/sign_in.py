"""Signs in by a link as a person does: open it, then press its button."""

from __future__ import annotations

import httpx
from playwright.sync_api import Page


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
