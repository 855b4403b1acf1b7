"""Prices on the desk: what an operator sees, previews and sets, and each thing that is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client

from inference.protocol.request import Usage
from tests.webapp.usage.test_report import make_record, save
from webapp.models.billing.bill import UNPRICED, post_bill, price_book
from webapp.models.billing.models import LedgerEntry, Price
from webapp.models.billing.price_changes import MAX_UNIT_NANO, today

pytestmark = pytest.mark.django_db
SERVED = settings.ENVIRONMENT.model_name
FREE = {"uncached_input": 0, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0, "output": 0}
PRICES = {"uncached_input": 100, "cache_read": 10, "cache_write_5m": 125, "cache_write_1h": 200, "output": 400}


@pytest.fixture
def operator() -> Client:
    return client_of("olive", "view_price", "add_price", "delete_price")


def client_of(name: str, *codenames: str) -> Client:
    user = User.objects.create_user(name)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def body(model: str = SERVED, day: date | None = None, **more: Any) -> dict[str, Any]:
    found = {"model": model, "effective_from": f"{day or today() + timedelta(days=1)}", "currency": "USD"}
    return found | {"unit_nano": PRICES} | more


def post(client: Client, path: str, given: dict[str, Any], status: int = 200) -> dict[str, Any]:
    response = client.post(path, given, "application/json")
    assert response.status_code == status, response.content
    found: dict[str, Any] = response.json()
    return found if status < 400 else found["error"]


def listed(client: Client, model: str = SERVED) -> dict[str, Any]:
    answer = client.get("/api/prices").json()
    found: dict[str, Any] = next(each for each in answer["models"] if each["model"] == model)
    return found


def noon(days_ago: int) -> datetime:
    day = today() - timedelta(days=days_ago)
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def test_prices_are_shown_with_their_days(operator: Client) -> None:
    post(operator, "/api/prices", body(), 201)
    spans = listed(operator)["spans"]
    assert [span["state"] for span in spans] == ["now", "to_come"]
    assert spans[0]["last"] == f"{today()}"
    assert (spans[1]["last"], spans[1]["currency"], spans[1]["unit_nano"]) == (None, "USD", PRICES)


def test_a_model_without_a_price_is_said_to_be_unpriced(operator: Client) -> None:
    alice = User.objects.create_user("alice")
    unpriced = {"price_version": UNPRICED, "currency": "", "cost_nano": None, "saved_nano": None}
    save(make_record(1, alice, noon(1), model="new", **unpriced))
    found = listed(operator, "new")
    assert (found["is_priced"], found["spans"], found["num_unpriced"]) == (False, [], 1)
    assert found["earliest"] == f"{today()}"


def test_the_preview_says_what_the_last_days_would_have_cost_and_by_which_users(operator: Client) -> None:
    alice, anna = (User.objects.create_user(name) for name in ("alice", "anna"))
    tokens = {"uncached_input": 0, "cache_read": 0, "model": "a"}
    save(
        make_record(1, alice, noon(2), output=10, cost_nano=2000, **tokens),
        make_record(2, anna, noon(2), output=90, cost_nano=18_000, **tokens),
        make_record(3, anna, noon(40), output=90, cost_nano=18_000, **tokens),
        make_record(4, anna, noon(2), output=90, cost_nano=18_000, **tokens | {"model": "b"}),
    )
    found = post(operator, "/api/prices/preview", body("a"))
    assert found["billed"] == [{"currency": "USD", "nano": 20_000}]
    assert found["would_cost"] == {"currency": "USD", "nano": 40_000}
    assert (found["num_requests"], found["num_unpriced"]) == (2, 0)
    assert [(user["name"], user["billed_nano"], user["would_cost_nano"]) for user in found["users"]] == [
        ("anna", 18_000, 36_000),
        ("alice", 2000, 4000),
    ]
    assert not Price.objects.filter(model="a").exists()


def test_the_preview_never_adds_up_currencies_and_tells_unpriced_requests_apart(operator: Client) -> None:
    alice = User.objects.create_user("alice")
    unpriced = {"price_version": UNPRICED, "currency": "", "cost_nano": None, "saved_nano": None}
    save(
        make_record(1, alice, noon(2), cost_nano=7, currency="EUR"),
        make_record(2, alice, noon(2), cost_nano=5),
        make_record(3, alice, noon(2), **unpriced),
    )
    found = post(operator, "/api/prices/preview", body("a", currency="EUR"))
    assert found["billed"] == [{"currency": "EUR", "nano": 7}, {"currency": "USD", "nano": 5}]
    assert found["num_unpriced"] == 1
    each = 10 * PRICES["uncached_input"] + 30 * PRICES["cache_read"] + 5 * PRICES["output"]
    assert found["would_cost"] == {"currency": "EUR", "nano": 3 * each}


def test_the_preview_doubts_unusual_figures(operator: Client) -> None:
    def doubts(**more: Any) -> list[str]:
        found: list[str] = post(operator, "/api/prices/preview", body(**more))["doubts"]
        return found

    current = price_book(SERVED).in_force(SERVED, today())
    assert current is not None
    assert doubts(unit_nano=dict(current.unit_nano)) == []
    assert doubts(unit_nano=FREE) == ["All tokens are free."]
    assert doubts(unit_nano=dict(current.unit_nano), currency="EUR") == ["The currency changes from USD to EUR."]
    high = dict(current.unit_nano) | {"cache_read": current.unit_nano["uncached_input"] + 1}
    assert "Reading from the cache costs more than computing the input anew." in doubts(unit_nano=high)
    dear = {kind: 11 * nano for kind, nano in current.unit_nano.items()}
    assert doubts(unit_nano=dear) == ["A price is more than 10 times the one before."]


@pytest.mark.parametrize("path", ["/api/prices", "/api/prices/preview"])
@pytest.mark.parametrize(
    ("given", "status", "field", "words"),
    [
        ({"unit_nano": PRICES | {"output": -1}}, 400, "output", "Enter 0 for tokens that cost nothing."),
        ({"unit_nano": PRICES | {"output": MAX_UNIT_NANO + 1}}, 400, "output", "over the limit of 100,000 USD"),
        ({"unit_nano": {"output": 1}}, 400, "unit_nano.uncached_input", "is missing"),
        ({"unit_nano": PRICES | {"output": 1.5}}, 400, "unit_nano.output", "a whole number"),
        ({"unit_nano": PRICES | {"outptu": 1}}, 400, "unit_nano.outptu", "There is no field"),
        ({"currency": "dollars"}, 400, "currency", "three capital letters, such as USD"),
        ({"currency": "U\x00D"}, 400, "currency", "three capital letters"),
        ({"effective_from": "2026-02-30"}, 400, "effective_from", "effective_from"),
        ({"effective_from": "9999-12-31"}, 400, "effective_from", "more than ten years ahead"),
        ({"model": "nothing"}, 400, "model", "Choose one of the list."),
    ],
)
def test_wrong_figures_are_refused_with_advice(
    operator: Client, path: str, given: dict[str, Any], status: int, field: str, words: str
) -> None:
    error = post(operator, path, body() | given, status)
    assert (error["field"], error["code"]) == (field, "invalid")
    assert words in error["message"]
    assert not Price.objects.filter(effective_from__gt=today()).exists()


def test_all_wrong_figures_are_told_at_once(operator: Client) -> None:
    error = post(operator, "/api/prices", body(unit_nano=PRICES | {"output": -1, "cache_read": -1}), 400)
    assert [problem["field"] for problem in error["problems"]] == ["cache_read", "output"]


def test_a_day_has_one_set_of_prices(operator: Client) -> None:
    post(operator, "/api/prices", body(), 201)
    error = post(operator, "/api/prices", body(), 409)
    assert (error["code"], error["field"]) == ("conflict", "effective_from")
    assert "remove those first" in error["message"]


@pytest.mark.parametrize("source", ["ledger", "records"])
def test_posted_bills_stay_as_they_are(operator: Client, source: str) -> None:
    alice = User.objects.create_user("alice")
    if source == "ledger":
        post_bill("req_1", alice.pk, SERVED, Usage(output=3))
    else:
        save(make_record(1, alice, noon(0), model=SERVED))
    tomorrow = today() + timedelta(days=1)
    for days_ago in (0, 1, 400):
        error = post(operator, "/api/prices", body(day=today() - timedelta(days=days_ago)), 409)
        assert "posted bills stay as they are" in error["message"]
        assert f"Choose {tomorrow} or a later day." in error["message"]
    assert listed(operator)["earliest"] == f"{tomorrow}"
    post(operator, "/api/prices", body(), 201)
    assert LedgerEntry.objects.filter(price_version=f"{tomorrow}").count() == 0


def test_an_unpriced_model_gets_prices_from_today_and_its_bills_stay_unpriced(operator: Client) -> None:
    alice = User.objects.create_user("alice")
    unpriced = {"price_version": UNPRICED, "currency": "", "cost_nano": None, "saved_nano": None}
    save(make_record(1, alice, noon(0), model="new", **unpriced))
    post_bill("req_1", alice.pk, "new", Usage(output=3))
    post(operator, "/api/prices", body("new", today()), 201)
    assert LedgerEntry.objects.get().price_version == UNPRICED
    assert post_bill("req_2", alice.pk, "new", Usage(output=3)).total_nano == 3 * PRICES["output"]


def test_prices_to_come_are_removed_and_others_stay(operator: Client) -> None:
    post(operator, "/api/prices", body(), 201)
    tomorrow = today() + timedelta(days=1)
    path = f"/api/prices?model={SERVED}&effective_from="
    assert operator.delete(path + f"{tomorrow}").status_code == 200
    assert operator.delete(path + f"{tomorrow}").status_code == 404
    assert operator.delete(path + f"{Price.objects.first().effective_from}").status_code == 409  # type: ignore[union-attr]
    assert len(listed(operator)["spans"]) == 1


def test_each_change_is_in_the_audit_log_with_the_prices_before(operator: Client) -> None:
    post(operator, "/api/prices", body(), 201)
    entry = LogEntry.objects.latest("pk")
    assert (entry.actor and entry.actor.username, entry.additional_data["action"]) == ("olive", "set the prices of")
    before, after = entry.changes["output"]
    assert before.endswith(" USD")
    assert after == "0.4 USD"
    operator.delete(f"/api/prices?model={SERVED}&effective_from={today() + timedelta(days=1)}")
    assert LogEntry.objects.latest("pk").changes["output"] == ["0.4 USD", None]


def test_each_operation_needs_its_permission() -> None:
    nobody, viewer = client_of("bob"), client_of("vera", "view_price")
    assert nobody.get("/api/prices").status_code == 403
    assert viewer.get("/api/prices").status_code == 200
    for path in ("/api/prices", "/api/prices/preview"):
        assert viewer.post(path, body(), "application/json").status_code == 403
    assert viewer.delete(f"/api/prices?model={SERVED}&effective_from={today()}").status_code == 403


def test_the_admins_table_keeps_the_rules_of_posted_bills() -> None:
    root = client_of("root")
    User.objects.update(is_staff=True, is_superuser=True)
    post_bill("req_1", User.objects.get().pk, SERVED, Usage(output=3))
    price = Price.objects.filter(kind="output", model="smollm2-135m-instruct").get()
    fields = {"model": SERVED, "kind": "output", "currency": "USD"}
    for nano, day, words in (
        (-1, today() + timedelta(days=1), "Enter 0 to"),
        (5, today(), "stay. Choose a later day."),
    ):
        given = fields | {"unit_price_nano": nano, "effective_from": f"{day}"}
        assert words in root.post("/admin/billing/price/add/", given).content.decode()
    moved = fields | {"unit_price_nano": 5, "effective_from": f"{today() + timedelta(days=1)}"}
    assert root.post(f"/admin/billing/price/{price.pk}/change/", moved).status_code == 403
    assert root.post(f"/admin/billing/price/{price.pk}/delete/", {"post": "yes"}).status_code == 403
    root.post("/admin/billing/price/", {"action": "delete_selected", "_selected_action": price.pk, "post": "yes"})
    assert Price.objects.get(pk=price.pk).unit_price_nano == price.unit_price_nano
