"""Keys: made once, found by their secret, refused with a reason, limited in number and scope."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.webapp.identity.keys.programs import expire, new_key
from tests.webapp.registered import CONFIGURED
from webapp.identity.keys.keys import (
    MAX_LIVE,
    KeyInvalid,
    KeyRefused,
    TooManyKeys,
    create,
    find,
    live_ids,
    may,
    note_use,
    revoke,
)
from webapp.identity.keys.models import ApiKey
from webapp.identity.keys.secrets import make

pytestmark = pytest.mark.django_db


def refusal(secret: str) -> str:
    with pytest.raises(KeyRefused) as refused:
        find(secret)
    assert not secret or secret not in str(refused.value)
    return refused.value.code


def test_a_key_is_found_by_its_secret_which_is_not_kept() -> None:
    new = new_key()
    assert find(new.secret) == new.key
    row = ApiKey.objects.values().get()
    assert new.secret not in str(row) and new.secret not in repr(new)
    assert new.secret.startswith(row["prefix"])


def test_an_unknown_a_truncated_and_a_hostile_key_are_unknown() -> None:
    secret = new_key().secret
    other = make().text
    foreign = secret[:11] + other[11:]
    for sent in (other, foreign, secret[:-1], secret + "a", secret.upper(), f" {secret}", "", "sg-\x00", "'; --"):
        assert refusal(sent) == "unknown_key"


def test_each_refusal_has_its_code() -> None:
    new = new_key()
    expire(new.key)
    assert refusal(new.secret) == "expired_key"
    revoke(new.key)
    assert refusal(new.secret) == "revoked_key"
    other = new_key("bob")
    User.objects.filter(username="bob").update(is_active=False)
    assert refusal(other.secret) == "owner_inactive"


def test_one_query_finds_a_key_with_its_user() -> None:
    secret = new_key().secret
    with CaptureQueriesContext(connection) as queries:
        assert find(secret).user.username == "carol"
    assert len(queries) == 1


def test_a_revocation_counts_once() -> None:
    key = new_key().key
    revoke(key)
    at = ApiKey.objects.get().revoked_at
    revoke(ApiKey.objects.get())
    assert at is not None and at == key.revoked_at == ApiKey.objects.get().revoked_at
    told = LogEntry.objects.order_by("pk").values_list("additional_data__action", flat=True)
    assert [each for each in told if each] == ["made a key of", "revoked a key of"]


def test_use_is_noted_once_a_minute() -> None:
    secret = new_key().secret
    note_use(find(secret))
    first = ApiKey.objects.get().last_used_at
    assert first is not None
    key = find(secret)
    with CaptureQueriesContext(connection) as queries:
        note_use(key)
    assert not queries
    ApiKey.objects.update(last_used_at=first - timedelta(minutes=1))
    stale = find(secret)
    note_use(find(secret))
    second = ApiKey.objects.get().last_used_at
    note_use(stale)  # another process that read the row before
    assert second is not None and second > first and ApiKey.objects.get().last_used_at == second


def test_the_limit_counts_keys_that_work() -> None:
    user = User.objects.create_user("carol")
    for _ in range(MAX_LIVE):
        last = create(user.pk, "one").key
    with pytest.raises(TooManyKeys):
        create(user.pk, "one too many")
    new_key("bob")
    revoke(last)
    expire(create(user.pk, "in place of the last").key)
    create(user.pk, "in place of the expired")


@pytest.mark.parametrize(
    ("scopes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": " \n "}, "name"),
        ({"name": "x" * 61}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "a", "features": ["chat", "everything"]}, "features"),
        ({"name": "a", "models": ["no-such-model"]}, "models"),
        ({"name": "a", "expires_at": timezone.now()}, "expires_at"),
    ],
)
def test_a_key_that_cannot_be_made_tells_the_field(scopes: dict[str, Any], field: str) -> None:
    with pytest.raises(KeyInvalid) as invalid:
        create(User.objects.create_user("carol").pk, **scopes)
    assert invalid.value.field == field
    assert not ApiKey.objects.exists()


def test_scopes_limit_features_and_models() -> None:
    free = new_key().key
    assert may(free, "chat") and may(free, "embeddings", "any-model")
    bound = new_key(models=[CONFIGURED], features=["chat", "chat", "read"]).key
    assert bound.features == ["chat", "read"]
    assert may(bound, "chat") and may(bound, "chat", CONFIGURED)
    assert not may(bound, "embeddings") and not may(bound, "chat", "another")


def test_the_keys_that_work_now() -> None:
    works, revoked, expired, of_closed = new_key().key, new_key().key, new_key().key, new_key("bob").key
    revoke(revoked)
    expire(expired)
    User.objects.filter(username="bob").update(is_active=False)
    assert live_ids([each.pk for each in (works, revoked, expired, of_closed)] + [99999]) == {works.pk}
