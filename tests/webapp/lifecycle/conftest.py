"""One request in the state in which the gateway leaves it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from inference.eventlog.clock import unix_us
from inference.protocol.events import RequestAccepted
from inference.protocol.request import SamplingParams
from tests.webapp.inputs import asked
from webapp.requests import services
from webapp.requests.models import Request


@pytest.fixture
def request_(redis_client: object) -> Request:
    """An accepted request whose log has its first event."""
    request = Request.objects.create(
        user=User.objects.create_user("alice"),
        surface="chat",
        model="smollm2-135m-instruct",
        title="A question",
        accepted_unix_us=unix_us(),
        input=asked(),
    )
    accepted = RequestAccepted(
        at=0,
        request_id=request.pk,
        surface="chat",
        model=request.model,
        params=SamplingParams(),
        accepted_unix_us=request.accepted_unix_us,
    )
    services.event_log().append(request.pk, [accepted], request.attempt)
    return request
