"""What stands inside an answer: formulas, code, tables; going on with one that was cut; presets."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.panels import look_inside
from tests.browser.running import Running, post
from tests.browser.visiting import visit

ANSWER = r"""# Areas

A square has $a^2$, and a ticket costs $5 or $10.

$$
\int_0^1 x\,dx = \frac{1}{2}
$$

- [x] done

```python
def area(a: int) -> int:  # <|im_start|> is as written, in a comment longer than the column of an answer is wide, or so
    return a * a
```

<script>window.isHurt = true</script> $\href{javascript:alert(1)}{x}$ [x](javascript:alert(1))

End"""


@pytest.fixture(scope="module")
def base(product: Running) -> str:
    return product.link.partition("/signin/")[0]


def begun(page: Page, base: str, text: str, **params: object) -> Any:
    """A conversation with one message, opened on the page."""
    conversation = post(page, base, "/api/conversations", {"params": {"max_tokens": 12, "seed": 1} | params})
    path = f"/api/conversations/{conversation['id']}/messages"
    sent = post(page, base, path, {"text": text, "parent_id": None})
    visit(page, f"{base}/c/{conversation['id']}")
    return sent["assistant_message"]


def test_an_answer_has_its_formulas_and_its_code_in_colours(page: Page, base: str) -> None:
    parent = begun(page, base, "Say hello.")
    expect(page.get_by_role("button", name="Regenerate")).to_be_visible(timeout=60_000)
    params = {"max_tokens": 600, "seed": 1}
    post(page, base, f"/api/requests/{parent['request_id']}/fork", {"text": ANSWER, "params": params})
    page.reload()
    answer = page.get_by_test_id("assistant-message")
    expect(answer.locator(".katex")).to_have_count(3, timeout=60_000)
    expect(answer).to_contain_text("costs $5 or $10.")
    expect(answer.locator(".katex-display")).to_have_count(1)
    page.wait_for_function("document.fonts.check('16px KaTeX_Main')")
    expect(answer.get_by_role("checkbox", name="Done")).to_be_disabled()
    expect(answer.locator(".hljs-keyword").first).to_have_text("def")
    expect(answer.locator("script, a[href^=javascript]")).to_have_count(0)
    assert page.evaluate("window.isHurt") is None


def test_code_is_copied_as_it_was_written_and_scrolls_in_its_box(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = page.get_by_test_id("assistant-message").locator("figure")
    code.get_by_role("button", name="Copy").click()
    expect(code.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("def area(a: int) -> int:  # <|im_start|> is as written")
    assert code.locator("pre").evaluate("box => box.scrollWidth > box.clientWidth")
    assert code.locator("pre").evaluate("box => getComputedStyle(box).fontVariantLigatures") == "no-contextual"


def test_a_formula_leads_to_its_token(page: Page) -> None:
    look_inside(page)
    expect(page.get_by_test_id("inspector-toggle")).to_have_attribute("aria-expanded", "true")
    answer = page.get_by_test_id("assistant-message")
    answer.locator(".katex-display .mord").first.hover()
    marked = "[...(CSS.highlights.get('linked-token') ?? [])].map((range) => range.startContainer.className)"
    page.wait_for_function(f"JSON.stringify({marked}).includes('formula')")
    page.get_by_test_id("inspector-toggle").click()
    expect(page.get_by_test_id("inspector-toggle")).to_have_attribute("aria-expanded", "false")


def test_the_page_has_its_headings(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text("Say hello.")
    articles = page.get_by_role("article")
    expect(articles.get_by_role("heading", level=2)).to_have_text(["Question", "Answer"])
    expect(articles.get_by_role("heading", level=3)).to_have_text("Areas")


def test_an_answer_that_was_cut_goes_on_from_its_last_token(page: Page, base: str) -> None:
    begun(page, base, "Tell me about the sea.")
    answer = page.get_by_test_id("assistant-message")
    expect(page.get_by_text("Stopped at 12 tokens.")).to_be_visible(timeout=60_000)
    before = answer.inner_text()
    shorter = f"(answer) => answer && !answer.innerText.startsWith({before!r})"
    page.evaluate(
        f"""() => new MutationObserver(() => {{
          const answer = document.querySelector('[data-testid="assistant-message"]');
          window.isShorter ||= ({shorter})(answer);
        }}).observe(document.querySelector('.scroller'), {{ subtree: true, childList: true, characterData: true }})"""
    )
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Stopped at 24 tokens.")).to_be_visible(timeout=60_000)
    expect(answer).to_have_text(re.compile("^" + re.escape(before) + ".+", re.DOTALL))
    assert not page.evaluate("window.isShorter")


def test_the_limit_is_changed_where_it_cut(page: Page) -> None:
    page.get_by_role("button", name="Change limit").click()
    expect(page.get_by_label("Longest answer")).to_be_focused()
    page.keyboard.press("Escape")


def test_a_preset_is_saved_applied_renamed_and_deleted(page: Page) -> None:
    dialog = page.get_by_role("dialog", name="Settings")
    page.get_by_role("button", name="Settings").click()
    dialog.get_by_label("Temperature").fill("1.7")
    dialog.get_by_role("button", name="Save these settings").click()
    dialog.get_by_label("Name of the preset").fill("Hot")
    dialog.get_by_label("Name of the preset").press("Enter")
    expect(dialog.get_by_role("button", name="Hot", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Precise").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Settings").click()
    expect(dialog.get_by_label("Temperature")).to_have_value("0")
    dialog.get_by_role("button", name="Hot", exact=True).click()
    expect(dialog).to_have_count(0)
    page.reload()
    page.get_by_role("button", name="Settings").click()
    expect(dialog.get_by_label("Temperature")).to_have_value("1.7")
    dialog.get_by_role("button", name="Manage").click()
    dialog.get_by_label("New name of “Hot”").fill("Hotter")
    dialog.get_by_label("New name of “Hot”").press("Enter")
    dialog.get_by_role("button", name="Delete “Hotter”").click()
    expect(dialog.get_by_text("“Hotter” was deleted.")).to_be_visible()
    dialog.get_by_role("button", name="Undo").click()
    expect(dialog.get_by_role("button", name="Hotter", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
