"""What the exhibits ask of the server."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from tokenizers import Tokenizer

from webapp.billing.models import Price
from webapp.gateway.site import EXHIBITS

pytestmark = pytest.mark.django_db

TERMS = Path(__file__).parents[3] / "frontend" / "src" / "inspector" / "terms.ts"


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("alice"))
    return client


def test_the_server_knows_the_exhibits_that_the_page_links_to(alice: Client) -> None:
    union = re.search(r"type Exhibit =([^;]*);", TERMS.read_text("utf-8"))
    assert union is not None
    assert set(re.findall(r'"(\w+)"', union.group(1))) == EXHIBITS
    assert alice.get("/learn/alchemy").status_code in (404, 503)


def test_prices_are_those_of_today(alice: Client) -> None:
    Price.objects.create(
        model="smollm2-135m-instruct", kind="output", unit_price_nano=90, effective_from=date(2026, 2, 1)
    )
    Price.objects.create(
        model="smollm2-135m-instruct", kind="output", unit_price_nano=1, effective_from=date(9999, 1, 1)
    )
    prices = alice.get("/api/learn/prices").json()["prices"]
    assert prices["unit_prices_nano"]["output"] == 90
    assert (prices["version"], prices["currency"]) == ("2026-02-01", "USD")
    Price.objects.filter(kind="cache_read").delete()
    assert alice.get("/api/learn/prices").json() == {"prices": None}


def test_the_classifiers_tokenizer_can_be_read(alice: Client) -> None:
    response = alice.get("/api/learn/tokenizers/wordpiece")
    tokenizer = Tokenizer.from_str(response.content.decode())
    assert "##bel" in tokenizer.encode("unbelievably").tokens


def test_strangers_are_told_to_sign_in() -> None:
    for path in ("prices", "tokenizers/wordpiece"):
        assert Client().get(f"/api/learn/{path}").status_code == 401
