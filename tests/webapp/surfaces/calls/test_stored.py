"""A stored response is read by its owner alone, and by a key whose scope has its model."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from tests.webapp.registered import CONFIGURED
from webapp.identity.keys.keys import create
from webapp.requests.models import Request
from webapp.surfaces.calls.stored import find_stored, store

pytestmark = pytest.mark.django_db


def test_a_keys_scope_leaves_out_the_responses_of_other_models() -> None:
    alice, bob = (User.objects.create_user(name) for name in ("alice", "bob"))
    free, limited = create(alice.pk, "free").key, create(alice.pk, "limited", models=[CONFIGURED]).key
    for model, is_found in ((CONFIGURED, True), ("another", False)):
        request = Request.objects.create(user=alice, surface="openai", model=model)
        store(request, {"model": model})
        assert find_stored(alice.pk, request.pk, free) is not None
        assert (find_stored(alice.pk, request.pk, limited) is not None) is is_found
        assert find_stored(bob.pk, request.pk) is None
