"""All browser tests share one product. Each module has its own user and signed-in page, whose glass is closed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.running import ROOT, Running
from tests.ports import free_port
from tests.sign_in import press_link

sys.path.insert(0, str(ROOT / "scripts"))

from browser import find_chromium

# The parts of a page are fetched one after another, on a machine that is shared.
expect.set_options(timeout=60_000)

_NUMBERS = count(1)
"""A second try of a module has a user of its own."""


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("data"), free_port())
    yield running
    running.end()
    running.wait_until_all_gone()


@pytest.fixture(scope="module")
def product(running: Running, request: pytest.FixtureRequest) -> Running:
    """The shared product, whose link signs in a new user of this module."""
    running.sign_in(f"{request.module.__name__.rpartition('.')[2]}-{next(_NUMBERS)}")
    return running


@pytest.fixture(scope="module")
def page(product: Running) -> Iterator[Page]:
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*options, "--disable-sync"])
        page = browser.new_page(viewport={"width": 1360, "height": 860})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.add_init_script("localStorage.setItem('sightglass-inspector', 'closed')")
        press_link(page, product.link)
        yield page
        assert errors == []
        browser.close()
