"""The product as `make up` starts it, on a data folder of its own; with it headless Chromium that is signed in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright


@contextmanager
def signed_in(port: str, settings: dict[str, str] | None = None, **page: Any) -> Iterator[Page]:
    """A page of the started product, which stops afterwards. settings: environment variables; page: of the page."""
    with started(port, settings) as (browser, link):
        opened = browser.new_page(**page)
        press(opened, link)
        yield opened


def press(page: Page, link: str) -> None:
    """Sign in: open the link, then press its button."""
    page.goto(link)
    page.get_by_role("button").click()
    page.wait_for_url(lambda address: "/signin/" not in address)


@contextmanager
def started(port: str, settings: dict[str, str] | None = None) -> Iterator[tuple[Browser, str]]:
    """A browser, and the link that signs in to the started product, which stops afterwards."""
    with running(port, settings) as product, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser, product.link
        browser.close()


@dataclass(frozen=True)
class Product:
    """A started product."""

    pid: int
    """Its supervisor."""
    link: str
    """Signs in."""
    environment: dict[str, str]

    def manage(self, *arguments: str) -> str:
        """What a command of the product's prints."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, check=True
        ).stdout


@contextmanager
def running(port: str, settings: dict[str, str] | None = None) -> Iterator[Product]:
    """The product without a browser; it stops afterwards."""
    data = tempfile.mkdtemp(prefix="sightglass-bench-")
    environment = {"PORT": port, "SIGHTGLASS_DATA": data} | (settings or {})
    command = ["env", *[f"{key}={value}" for key, value in environment.items()], sys.executable, "manage.py", "up"]
    product = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield Product(product.pid, _signin_link(product), environment)
    finally:
        product.terminate()
        product.wait(timeout=30)
        shutil.rmtree(data, ignore_errors=True)


def _signin_link(product: subprocess.Popen[str]) -> str:
    assert product.stdout is not None
    for line in product.stdout:
        if found := re.search(r"http://\S+/signin/\S+", line):
            return found.group()
    raise SystemExit("the product stopped before it printed its sign-in link")
