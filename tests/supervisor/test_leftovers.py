"""Only requests that nobody else can be working on are failed at the start."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import User

from inference.protocol.failures import SERVICE_STOPPED
from webapp.operations.supervisor.leftovers import end_leftovers
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("database_url", "num_settled"), [(None, 1), ("postgres://shared/site", 0)])
def test_open_requests_are_failed_only_where_the_data_folder_holds_the_database(
    redis_url: str,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
    database_url: str | None,
    num_settled: int,
) -> None:
    Request.objects.create(user=User.objects.create_user("alice"), surface="chat", model="m", title="t")
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, database_url=database_url))
    assert end_leftovers(redis_url, SERVICE_STOPPED) == num_settled
    assert redis_client.llen("settle") == num_settled
