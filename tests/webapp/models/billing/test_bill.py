"""A bill is posted once, adds up, and stays."""

from __future__ import annotations

import msgspec
import pytest
from django.contrib.auth.models import User
from django.db.models import ProtectedError
from django.test import Client

from inference.protocol.request import Usage
from webapp.models.billing.bill import compute_lines, post_bill, saved_nano
from webapp.models.billing.models import LedgerEntry, LedgerIsAppendOnly
from webapp.requests.models import Request

PRICES = {"uncached_input": 20, "cache_read": 2, "cache_write_5m": 25, "cache_write_1h": 40, "output": 80}


def test_lines_add_up_and_leave_out_what_was_not_used() -> None:
    lines = compute_lines(Usage(uncached_input=37, output=8), PRICES)
    assert [(line.kind, line.amount_nano) for line in lines] == [("uncached_input", 740), ("output", 640)]


@pytest.mark.django_db
@pytest.mark.database
def test_a_second_post_returns_the_first() -> None:
    alice = User.objects.create_user("alice")
    first = post_bill("req_1", alice.pk, "smollm2-135m-instruct", Usage(uncached_input=10, output=1))
    again = post_bill("req_1", alice.pk, "smollm2-135m-instruct", Usage(uncached_input=999))
    assert first == again
    assert LedgerEntry.objects.count() == 1


@pytest.mark.django_db
def test_an_unpriced_model_has_no_amount() -> None:
    alice = User.objects.create_user("alice")
    bill = post_bill("req_1", alice.pk, "unknown", Usage(output=5))
    assert (bill.lines, bill.total_nano, bill.saved_nano, bill.price_version) == ((), 0, None, "unpriced")


def test_a_cache_saves_what_its_tokens_cost_less() -> None:
    assert saved_nano(Usage(uncached_input=10, cache_read=100, output=50), PRICES) == 100 * (20 - 2)
    assert saved_nano(Usage(cache_write_5m=10, cache_write_1h=1), PRICES) == 10 * (20 - 25) + (20 - 40)


@pytest.mark.django_db
@pytest.mark.database
def test_an_entry_cannot_be_changed_or_deleted() -> None:
    alice = User.objects.create_user("alice")
    post_bill("req_1", alice.pk, "smollm2-135m-instruct", Usage(output=1))
    entry = LedgerEntry.objects.get()
    with pytest.raises(LedgerIsAppendOnly):
        entry.save()
    with pytest.raises(LedgerIsAppendOnly):
        entry.delete()
    for change in (
        LedgerEntry.objects.all().delete,
        lambda: LedgerEntry.objects.update(total_nano=0),
        alice.delete,
    ):
        with pytest.raises((LedgerIsAppendOnly, ProtectedError)):
            change()
    assert LedgerEntry.objects.get().total_nano == entry.total_nano > 0


@pytest.mark.django_db
def test_a_bill_can_be_compared_with_the_ledger_by_its_owner_alone(client: Client) -> None:
    alice, bob = (User.objects.create_user(name) for name in ("alice", "bob"))
    request = Request.objects.create(user=alice, surface="chat", model="smollm2-135m-instruct", title="")
    path = f"/api/requests/{request.pk}/ledger"
    client.force_login(alice)
    assert client.get(path).status_code == 404
    bill = post_bill(request.pk, alice.pk, request.model, Usage(uncached_input=10, output=1))
    entry = client.get(path).json()
    assert (entry["total_nano"], entry["price_version"]) == (bill.total_nano, bill.price_version)
    assert entry["lines"] == list(msgspec.to_builtins(bill.lines))
    client.force_login(bob)
    assert client.get(path).status_code == 404
