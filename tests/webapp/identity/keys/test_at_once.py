"""Keys that are made at once, on PostgreSQL: the limit counts each."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from tests.webapp.at_once import called_during, on_postgres
from webapp.identity.keys.keys import MAX_LIVE, TooManyKeys, create
from webapp.identity.keys.models import ApiKey

pytestmark = [pytest.mark.django_db(transaction=True), on_postgres]


def test_two_keys_that_are_made_at_once_do_not_pass_the_limit() -> None:
    user = User.objects.create_user("carol")
    rows = (ApiKey(user=user, name="k", prefix=f"sg-{n:08}", digest="") for n in range(MAX_LIVE - 1))
    ApiKey.objects.bulk_create(rows)

    def late() -> str:
        try:
            return create(user.pk, "late").secret
        except TooManyKeys:
            return "refused"

    assert called_during(lambda: create(user.pk, "first"), late) == "refused"
    assert ApiKey.objects.count() == MAX_LIVE


def test_another_users_key_waits_for_none() -> None:
    carol, bob = (User.objects.create_user(name) for name in ("carol", "bob"))
    made = called_during(lambda: create(carol.pk, "hers"), lambda: create(bob.pk, "his").key.name)
    assert made == "his" and ApiKey.objects.count() == 2
