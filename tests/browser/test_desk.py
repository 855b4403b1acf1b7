"""The desk in a browser: demonstration data in, figures of the API out, and an address that keeps every choice."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import findings, findings_in_both_themes
from tests.browser.running import Running
from tests.browser.visiting import SIZE, page_of, visit

WIDTHS = [(1280, 900), (390, 844)]


@pytest.fixture(scope="module")
def desk(page: Page, demonstration: None) -> Page:
    """The operator's page."""
    return page


def at(product: Running, path: str) -> str:
    return product.link[: product.link.index("/signin/")] + path


def report(page: Page, product: Running, query: str) -> Any:
    answer = page.request.get(at(product, f"/api/usage/all?{query}"))
    assert answer.ok, answer.text()
    return answer.json()


def figure(page: Page, name: str) -> str:
    item = page.get_by_role("list", name="Figures").get_by_role("listitem").filter(has=page.get_by_text(name))
    return item.locator("b").inner_text().replace("\u00a0", " ")


def test_the_figures_are_those_of_the_api(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC"))
    expect(desk.get_by_role("heading", name="Safety verdicts")).to_be_visible()
    found = report(desk, product, "zone=UTC")
    assert figure(desk, "Requests") == f"{found['now']['num_requests']:,}"
    dollars = next(amount["nano"] for amount in found["now"]["cost"] if amount["currency"] == "USD") / 1e9
    assert figure(desk, "Cost") == f"${dollars:,.2f}"
    assert figure(desk, "Held back by safety") == f"{found['now']['num_held_back']:,}"
    expect(desk.get_by_text("demonstration data")).to_be_visible()
    leader = desk.get_by_role("list", name="Users").get_by_role("link").first
    expect(leader).to_contain_text(found["leaders"][0]["name"])
    assert found["leaders"][0]["name"] == "demo-evaluation-1"


def test_a_bar_leads_to_its_day_and_back_to_the_period(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC&measure=requests"))
    bars = desk.get_by_role("group", name="Bars").get_by_role("link")
    expect(bars).to_have_count(30)
    bars.nth(28).click()
    expect(desk).to_have_url(re.compile(r"first=(\d{4}-\d\d-\d\d)&last=\1&measure=requests&zone=UTC"))
    expect(desk.get_by_role("heading", name="Requests by hour")).to_be_visible()
    expect(bars).to_have_count(24)
    desk.go_back()
    expect(desk.get_by_role("heading", name="Requests by day")).to_be_visible()
    expect(bars).to_have_count(30)


def test_an_hours_bar_leads_to_its_requests(desk: Page, product: Running) -> None:
    day = report(desk, product, "zone=UTC")["last"]
    visit(desk, at(product, f"/admin/?zone=UTC&first={day}&last={day}"))
    desk.get_by_role("group", name="Bars").get_by_role("link").nth(9).click()
    expect(desk).to_have_url(re.compile("hour=9"))
    slot = desk.get_by_text(re.compile("^9:00 to 10:00"))
    expect(slot).to_be_in_viewport()
    desk.get_by_role("button", name="Every hour").click()
    expect(slot).to_have_count(0)


def test_keys_lead_from_bar_to_bar(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC"))
    bars = desk.get_by_role("group", name="Bars").get_by_role("link")
    bars.first.focus()
    desk.keyboard.press("End")
    expect(bars.last).to_be_focused()
    desk.keyboard.press("ArrowLeft")
    expect(bars.nth(28)).to_be_focused()
    desk.keyboard.press("Enter")
    expect(desk.get_by_role("heading", name="Cost by hour")).to_be_visible()


def test_a_field_of_the_week_a_cause_and_a_verdict_lead_to_their_requests(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC"))
    field = desk.get_by_role("link", name=re.compile("arrow keys lead to other hours"))
    before = field.get_attribute("aria-label")
    field.focus()
    desk.keyboard.press("ArrowLeft")
    expect(field).not_to_have_attribute("aria-label", before or "")
    expected = re.search(r", (\d+):00 to \d+:00: ([\d,]+) request", field.get_attribute("aria-label") or "")
    assert expected is not None
    desk.keyboard.press("Enter")
    expect(desk).to_have_url(re.compile(rf"weekday=\d&hour={expected[1]}"))
    listed = desk.get_by_role("region", name="Requests").get_by_role("status")
    expect(listed).to_have_text(re.compile(rf"(^| of ){expected[2]} request"))
    visit(desk, at(product, "/admin/?zone=UTC"))
    desk.get_by_role("list", name="Verdicts").get_by_role("link", name=re.compile("Flagged")).click()
    expect(desk.get_by_role("combobox", name="Verdict", exact=True)).to_have_value("flag")
    visit(desk, at(product, "/admin/?zone=UTC"))
    desk.get_by_role("list", name="Causes").get_by_role("link").first.click()
    expect(desk).to_have_url(re.compile("status=.*code=|code=.*status="))
    expect(desk.get_by_role("combobox", name="Cause", exact=True)).not_to_have_value("")


def test_the_address_keeps_filters_groups_and_tables(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC"))
    desk.get_by_role("list", name="Users").get_by_role("link", name="demo-evaluation-1").click()
    expect(desk.get_by_role("combobox", name="User", exact=True).locator("option:checked")).to_have_text(
        "demo-evaluation-1"
    )
    desk.get_by_role("combobox", name=re.compile("^By")).select_option("status")
    desk.get_by_role("button", name="Show as a table").first.click()
    expect(desk.get_by_role("region", name=re.compile("^Table: cost-by-day"))).to_be_visible()
    desk.reload()
    expect(desk.get_by_role("region", name=re.compile("^Table: cost-by-day"))).to_be_visible()
    expect(desk.get_by_role("combobox", name=re.compile("^By"))).to_have_value("status")
    desk.get_by_role("button", name="Show all").click()
    expect(desk.get_by_role("list", name="Users").get_by_role("link")).not_to_have_count(1)


def test_a_chart_is_saved_as_csv(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC&measure=requests"))
    with desk.expect_download() as download:
        desk.get_by_role("button", name=re.compile("Save “Requests by day” as CSV")).click()
    lines = download.value.path().read_text("utf-8").splitlines()
    assert len(lines) == 31
    column = lines[0].split(",").index("All")
    # The day's name has a comma, so that it takes two places.
    num = sum(int(line.split(",")[column + 1]) for line in lines[1:])
    assert num == report(desk, product, "zone=UTC")["now"]["num_requests"]


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_it_fits_each_screen_and_is_accessible(desk: Page, product: Running, width: int, height: int) -> None:
    desk.set_viewport_size({"width": width, "height": height})
    visit(desk, at(product, "/admin/?by=user&tables=use,users"))
    expect(desk.get_by_role("region", name=re.compile("^Table:"))).to_have_count(2)
    overflow = "element => element.scrollWidth - element.clientWidth"
    assert desk.locator("html").evaluate(overflow) == 0
    assert desk.locator(".scroller").evaluate(overflow) == 0
    assert findings_in_both_themes(desk) == []
    desk.emulate_media(color_scheme="dark")
    expect(desk.locator("html")).to_have_attribute("data-theme", "dark")
    assert desk.locator("html").evaluate(overflow) == 0
    desk.emulate_media(color_scheme="light")
    desk.set_viewport_size(SIZE)


def test_a_wrong_period_is_named_by_the_server(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?first=2026-02-02&last=2026-02-01"))
    expect(desk.get_by_role("alert")).to_contain_text("Swap the days.")
    desk.get_by_role("combobox", name=re.compile("^Period")).select_option("7d")
    expect(desk.get_by_role("heading", name="Safety verdicts")).to_be_visible()


def test_a_period_that_means_nothing_is_named_on_the_page(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?first=nonsense&last=2026-02-01"))
    expect(desk.get_by_role("alert")).to_contain_text("“nonsense” in the address is no day")
    visit(desk, at(product, "/admin/users/?period=fortnight"))
    expect(desk.get_by_role("alert")).to_contain_text("“fortnight” in the address is no period")
    visit(desk, at(product, "/admin/?first=0001-01-01&last=2026-02-01"))
    expect(desk.get_by_role("alert")).to_contain_text("Choose a shorter one.")


def test_a_table_opens_where_its_button_was_pressed(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC"))
    desk.get_by_role("region", name="Who", exact=True).get_by_role("button", name="Show as a table").click()
    expect(desk.get_by_role("region", name="Table: users").get_by_role("row").nth(1)).to_be_in_viewport()


def test_the_last_week_says_why_its_first_user_leads(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC&period=7d"))
    last = report(desk, product, "zone=UTC")["last"]
    first = date.fromisoformat(last) - timedelta(days=6)
    found = report(desk, product, f"zone=UTC&first={first}&last={last}")
    who = desk.get_by_role("region", name="Who", exact=True)
    why = who.get_by_text(re.compile(r"^\S+ leads with [\d.]+\s%"))
    expect(why).to_contain_text(f"{found['leaders'][0]['name']} leads with")
    expect(why).to_contain_text("of the uncached input")
    expect(why).to_contain_text("of this user's cost")


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_the_bar_shows_the_chosen_page(desk: Page, product: Running, width: int, height: int) -> None:
    desk.set_viewport_size({"width": width, "height": height})
    bar = desk.get_by_role("navigation", name="Desk")
    for path, name in (("/admin/audit/", "Audit"), ("/admin/", "Usage"), ("/admin/safety/", "Safety")):
        visit(desk, at(product, path))
        expect(bar.get_by_role("link", name=name)).to_be_in_viewport(ratio=1)
    desk.set_viewport_size({"width": 1360, "height": 860})


def test_a_user_without_rights_sees_their_own_usage_only(desk: Page, product: Running) -> None:
    make = "from django.contrib.auth.models import User; User.objects.create_user('visitor')"
    product.manage("shell", "-c", make)
    link = product.manage("signin_link", "--user", "visitor").strip()
    visitor = page_of(desk.context.browser, link)
    visitor.goto(at(product, "/admin/"))
    expect(visitor).to_have_url(re.compile(r"/accounts/login/\?next=/admin/$"))
    visitor.goto(at(product, "/"))
    expect(visitor.get_by_role("link", name="Admin")).to_have_count(0)
    visitor.get_by_role("link", name="Usage").click()
    expect(visitor).to_have_url(re.compile("/usage$"))
    expect(visitor.get_by_role("heading", name="Your usage")).to_be_visible()
    expect(visitor.get_by_text("No request in this period.")).to_be_visible()
    visitor.context.close()


def test_what_stands_out_leads_to_its_day_and_its_requests(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC"))
    findings_list = desk.get_by_role("list", name="Findings")
    spike = findings_list.get_by_role("listitem").filter(has_text=re.compile("^Cost on Tuesday"))
    expect(spike).to_contain_text("demo-evaluation-1's")
    expect(findings_list.get_by_text(re.compile("^It was slow on")).first).to_be_visible()
    spike.get_by_role("button", name="Requests").click()
    expect(spike.get_by_role("list", name="Requests that explain it").get_by_role("listitem")).to_have_count(5)
    spike.get_by_role("link", name=re.compile("^Cost on Tuesday")).click()
    expect(desk).to_have_url(re.compile(r"by=user&first=(\d{4}-\d\d-\d\d)&last=\1|first=(\d{4}-\d\d-\d\d)&last=\2"))
    expect(desk.get_by_role("heading", name="Cost by hour")).to_be_visible()


def test_the_dearest_request_opens_in_the_inspector(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC&order=cost"))
    listed = desk.get_by_role("region", name="List of requests")
    listed.get_by_role("link").first.click()
    expect(desk).to_have_url(re.compile("/admin/requests/req_"))
    expect(desk.get_by_text("It is demonstration data")).to_be_visible()
    expect(desk.get_by_role("heading", name=re.compile("weather station"))).to_be_visible()


def test_a_request_without_a_trace_says_so(desk: Page, product: Running) -> None:
    answer = desk.request.get(at(product, "/api/usage/all/requests?group=demo-support"))
    bare = next(each for each in answer.json()["requests"] if not each["has_trace"])
    visit(desk, at(product, "/admin/?zone=UTC&group=demo-support"))
    listed = desk.get_by_role("region", name="List of requests")
    expect(listed.get_by_text("no trace").first).to_be_visible()
    visit(desk, at(product, f"/admin/requests/{bare['request_id']}"))
    expect(desk.get_by_role("alert")).to_contain_text("The demonstration has no trace of this request.")


def test_a_doubled_price_doubles_the_cost(desk: Page, product: Running) -> None:
    visit(desk, at(product, "/admin/?zone=UTC"))
    desk.get_by_role("combobox", name="Condition").select_option("factor")
    expect(desk.get_by_text("+100\u00a0%")).to_be_visible()
    desk.get_by_role("combobox", name="Condition").select_option("ttl")
    expect(desk.get_by_text("The page Re-price simulates another time to live")).to_be_visible()
    desk.reload()
    expect(desk.get_by_text("The page Re-price simulates another time to live")).to_be_visible()


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_a_webhook_to_this_machine_is_refused_with_the_reason(
    desk: Page, product: Running, width: int, height: int
) -> None:
    desk.set_viewport_size({"width": width, "height": height})
    visit(desk, at(product, "/admin/alerts/"))
    expect(desk.get_by_text("SIGHTGLASS_EMAIL_URL")).to_be_visible()
    assert findings(desk) == []
    desk.get_by_role("button", name="New rule").click()
    desk.get_by_label("Name").fill("On call")
    desk.get_by_label("URL").fill("http://127.0.0.1/hook")
    desk.get_by_role("button", name="Make the rule").click()
    expect(desk.get_by_role("alert")).to_contain_text("is not a public address")
    expect(desk.get_by_role("alert")).to_be_in_viewport(ratio=1)
    expect(desk.get_by_label("URL")).to_be_focused()
    assert findings(desk) == []
    desk.set_viewport_size({"width": 1360, "height": 860})


def test_the_audit_log_tells_each_action_and_is_searched(desk: Page, product: Running) -> None:
    make = "from django.contrib.auth.models import User; User.objects.create_user('<b>eve</b>', first_name='Eve')"
    product.manage("shell", "-c", make)
    visit(desk, at(product, "/admin/"))
    desk.get_by_role("navigation", name="Desk").get_by_role("link", name="Audit").click()
    desk.get_by_role("searchbox", name="User or thing").fill("<b>eve")
    desk.keyboard.press("Enter")
    expect(desk).to_have_url(re.compile(r"/admin/audit/\?text="))
    entry = desk.get_by_role("listitem").filter(has_text="created user")
    expect(entry).to_have_count(1)
    expect(entry).to_contain_text("The product created user <b>eve</b>")
    expect(entry).to_contain_text(re.compile(r"first name\s*– → Eve"))
    assert findings(desk) == []
    desk.get_by_role("searchbox", name="User or thing").fill("no such thing")
    desk.get_by_role("button", name="Search").click()
    expect(desk.get_by_text("No entry has this text.")).to_be_visible()
