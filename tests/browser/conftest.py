"""All browser tests share one product and one Chromium. Each module has its own user and a page that is signed in.

The page is empty until its first visit. Its glass is closed, and it asks for reduced motion: a picture that moves costs
half a core.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.running import ROOT, Running
from tests.browser.visiting import SIZE, sign_in, visit
from tests.ports import free_port

sys.path.insert(0, str(ROOT / "scripts"))

from browser import find_chromium

# The parts of a page are fetched one after another, on a machine that is shared.
expect.set_options(timeout=60_000)

OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
LOOKS = ("--force-color-profile=srgb", "--font-render-hinting=none")
"""So that pictures are alike on every machine."""
_NUMBERS = count(1)
"""A second try of a module has a user of its own."""


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("data"), free_port())
    yield running
    running.end()
    running.wait_until_all_gone()


@pytest.fixture(scope="package")
def demonstration(running: Running) -> None:
    """From the first module that asks for them on, the product has the demonstration's data of 30 days."""
    running.manage("seed_demo", "--days", "30")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        options = [*OPTIONS, *LOOKS, "--disable-sync"]
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def product(running: Running, request: pytest.FixtureRequest) -> Running:
    """The shared product, whose link signs in a new user of this module."""
    running.sign_in(f"{request.module.__name__.rpartition('.')[2]}-{next(_NUMBERS)}")
    return running


@pytest.fixture(scope="module")
def page(product: Running, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
    sign_in(context, product.link)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script("localStorage.setItem('sightglass-inspector', 'closed')")
    yield page
    for each in browser.contexts:
        each.close()
    assert errors == []


@pytest.fixture(scope="module")
def chat(page: Page, product: Running) -> None:
    """The module begins on a new chat."""
    visit(page, product.link.partition("/signin/")[0])
