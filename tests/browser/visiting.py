"""The ways onto a page of the product that cost least: a sign-in without a page, a visit without a load."""

from __future__ import annotations

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from tests.browser.running import Running, post

SIZE: ViewportSize = {"width": 1360, "height": 860}
_SHOW = """async (address) => {
  const app = document.querySelector(".app");
  if (!app || new URL(address).origin !== location.origin) return false;
  const show = () => dispatchEvent(new PopStateEvent("popstate"));
  history.pushState(null, "", "/nothing/is/here");
  show();
  await new Promise((resolve) => setTimeout(resolve));
  history.replaceState(null, "", address);
  show();
  return true;
}"""


def visit(page: Page, address: str) -> None:
    """Show a page of the product as the browser's own Back and Forward do: a load costs a second of a core.

    Nothing of the page before is left. Only its data are read anew, not the session's.
    """
    if not page.evaluate(_SHOW, address):
        page.goto(address)


def begin_chat(page: Page, product: Running, **params: object) -> None:
    """Open a new chat whose answers have these settings."""
    base = product.link.partition("/signin/")[0]
    visit(page, f"{base}/c/{post(page, base, '/api/conversations', {'params': params})['id']}")


def sign_in(context: BrowserContext, link: str) -> None:
    """Give the context a session, as the button of the link's page does."""
    context.request.get(link)
    token = next(cookie["value"] for cookie in context.cookies() if cookie["name"] == "csrftoken")
    answer = context.request.post(link, headers={"X-CSRFToken": token, "Referer": link}, max_redirects=0)
    assert answer.headers["location"] == "/", answer.status


def page_of(browser: Browser | None, link: str) -> Page:
    """An empty page of another user, in a context of its own."""
    assert browser is not None
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
    sign_in(context, link)
    return context.new_page()
