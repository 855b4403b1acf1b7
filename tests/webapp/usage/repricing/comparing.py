"""Saved requests to compare, and the calls of a reader."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.test import Client

from inference.protocol.codec import decode_frame
from inference.protocol.events import BillPosted, Frame, GenerationFinished, RequestAccepted, first
from webapp.requests.models import Request
from webapp.traces import store
from webapp.usage.models import UsageRecord

LOGS = Path(__file__).parents[4] / "tests" / "golden" / "logs"
MODEL = "smollm2-135m-instruct"


def saved(name: str, user: User, **given: Any) -> tuple[UsageRecord, GenerationFinished]:
    """A recorded request with its trace and its record of use."""
    frames = [decode_frame(json.dumps(each).encode()) for each in json.loads((LOGS / name).read_text())["frames"]]
    events = [event for frame in frames for event in frame.events]
    accepted, finished, bill = first(events, RequestAccepted), first(events, GenerationFinished), None
    bill = first(events, BillPosted)
    assert accepted is not None and finished is not None and bill is not None
    request = Request.objects.create(id=accepted.request_id, user=user, surface="chat", model=MODEL, title="t")
    store.save(request, [Frame(seq=frame.seq, events=frame.events) for frame in frames])
    record = UsageRecord.objects.create(
        **{
            "user": user,
            "request_id": request.pk,
            "model": MODEL,
            "surface": "chat",
            "status": "done",
            "accepted_at": datetime.fromtimestamp(accepted.accepted_unix_us / 1e6, UTC),
            "cost_nano": bill.total_nano,
            "currency": "USD",
            "price_version": "1",
            **msgspec.structs.asdict(finished.usage),
            **given,
        }
    )
    return record, finished


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def begin(client: Client, **body: Any) -> Any:
    period = {"first": "2026-01-01", "last": "2027-12-31"}
    return client.post("/api/repricings", json.dumps(period | body), content_type="application/json")


def shown(client: Client, begun: Any) -> Any:
    return client.get(f"/api/repricings/{begun.json()['id']}").json()
