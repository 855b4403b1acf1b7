"""Alerts reach real receivers once, are signed, are tried again within bounds, and keep their secrets."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from auditlog.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.webapp.demonstration import put_demonstration
from tests.webapp.usage.alerts.conftest import INTERNAL, Inbox, Receiver
from webapp.operations.demo.prices import PREFIX
from webapp.usage.alerts import webhook
from webapp.usage.alerts.check import check
from webapp.usage.alerts.deliver import MAX_ATTEMPTS, attempt, send_due, send_test
from webapp.usage.alerts.models import AlertRule, Delivery
from webapp.usage.alerts.target import Target
from webapp.usage.alerts.webhook import new_secret, sign

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def make_rule(receiver: Receiver | None = None, **more: Any) -> AlertRule:
    channel = {"channel": "webhook", "address": receiver.url, "secret": new_secret()} if receiver else {}
    fields = {"name": "On call", "least_severity": "medium", "created_at": NOW - timedelta(days=1)}
    return AlertRule.objects.create(**fields | channel | more)


def make_delivery(rule: AlertRule, key: str = "cost:1", **more: Any) -> Delivery:
    content = {"type": "finding.found", "data": {"rule": rule.name, "title": "Cost rose.", "url": "http://x/admin/"}}
    fields = {"status": "waiting", "created_at": NOW, "due_at": NOW, "title": "Cost rose.", "content": content}
    return Delivery.objects.create(rule=rule, rule_name=rule.name, finding_key=key, **fields | more)


def at(moment: datetime) -> Callable[[], datetime]:
    """A clock that stands still."""
    return lambda: moment


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json")


def test_the_incident_of_the_demonstration_is_told_once(receiver: Receiver) -> None:
    put_demonstration()
    make_rule(receiver)
    make_rule(receiver, name="Costs only", kinds=["cost"])
    make_rule(receiver, name="Off", is_enabled=False)
    assert check(NOW) == 2
    assert check(NOW + timedelta(minutes=5)) == 0
    assert send_due(at(NOW)) == 2
    assert send_due(at(NOW)) == 0
    told = [json.loads(each.body)["data"] for each in receiver.received]
    assert {each["kind"] for each in told} == {"slow_hours", "causes"}
    assert {each["rule"] for each in told} == {"On call"}
    slow = next(each for each in told if each["kind"] == "slow_hours")
    assert "from 15:00 to 16:00" in slow["title"]
    assert slow["url"].endswith("/admin/?first=2026-11-19&last=2026-11-19&zone=UTC")
    assert f"{PREFIX}worker-1" in slow["why"]
    assert set(Delivery.objects.values_list("status", "answer", "num_attempts")) == {("sent", "HTTP 200", 1)}


def test_a_body_is_signed_as_the_standard_says(receiver: Receiver) -> None:
    rule = make_rule(receiver)
    delivery = make_delivery(rule)
    send_due(at(NOW))
    (got,) = receiver.received
    assert got.path == "/hook?token=hidden"
    assert got.headers["host"] == f"localhost:{receiver.port}"
    assert got.headers["webhook-id"] == f"alert_{delivery.pk}"
    key = base64.b64decode(rule.secret.removeprefix("whsec_"))
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{expected}"


def test_the_signature_is_that_of_the_specifications_example() -> None:
    body = b'{"test": 2432232314}'
    secret, at = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1614265330
    signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body) == signature


def test_an_alert_is_tried_again_with_growing_pauses_and_the_same_id(receiver: Receiver) -> None:
    receiver.statuses = [500, 503]
    make_delivery(make_rule(receiver))
    now, pauses = NOW, []
    while send_due(at(now)):
        due = Delivery.objects.get().due_at
        if due is None:
            break
        pauses.append((due - now) / timedelta(minutes=1))
        now = due
    assert pauses == [1, 4]
    found = Delivery.objects.get()
    assert (found.status, found.num_attempts, found.answer) == ("sent", 3, "HTTP 200")
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1


def test_attempts_are_bounded(receiver: Receiver) -> None:
    receiver.statuses = [500] * 20
    make_delivery(make_rule(receiver))
    for hour in range(20):
        send_due(at(NOW + timedelta(hours=6 * hour)))
    found = Delivery.objects.get()
    assert (found.status, found.num_attempts, found.due_at) == ("failed", MAX_ATTEMPTS, None)
    assert len(receiver.received) == MAX_ATTEMPTS


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.statuses = [302]
    make_delivery(make_rule(receiver))
    send_due(at(NOW))
    assert [each.path for each in receiver.received] == ["/hook?token=hidden"]
    assert Delivery.objects.get().status == "failed"
    assert "redirect" in Delivery.objects.get().answer


def test_a_receiver_that_is_gone_is_not_tried_again(receiver: Receiver) -> None:
    receiver.statuses = [410]
    make_delivery(make_rule(receiver))
    send_due(at(NOW))
    assert (Delivery.objects.get().status, Delivery.objects.get().answer) == ("failed", "HTTP 410")


def test_an_address_that_became_private_is_refused_when_it_is_sent(receiver: Receiver, settings: Any) -> None:
    from dataclasses import replace

    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, webhook_hosts=[])
    make_delivery(make_rule(receiver))
    send_due(at(NOW))
    assert receiver.received == []
    assert "not a public address" in Delivery.objects.get().answer


def test_a_name_that_cannot_be_resolved_is_tried_again() -> None:
    rule = make_rule(channel="webhook", address="https://hooks.invalid/x", secret=new_secret())
    make_delivery(rule)
    send_due(at(NOW))
    found = Delivery.objects.get()
    assert (found.status, found.answer) == ("waiting", "The name hooks.invalid cannot be resolved.")


def test_two_processes_send_an_alert_once(receiver: Receiver) -> None:
    delivery = make_delivery(make_rule(receiver))
    other = Delivery.objects.get(pk=delivery.pk)
    assert attempt(delivery, NOW)
    assert not attempt(other, NOW)
    assert len(receiver.received) == 1


def test_a_claim_begins_with_its_attempt(receiver: Receiver) -> None:
    """The second attempt of this round begins when a claim from the round's start would have ended."""
    rule = make_rule(receiver)
    make_delivery(rule, "cost:1")
    late = make_delivery(rule, "cost:2", due_at=NOW + timedelta(seconds=1))
    times = iter([NOW + timedelta(seconds=2), NOW + timedelta(seconds=2), NOW + timedelta(minutes=3)])
    receiver.statuses = [500, 500]
    assert send_due(lambda: next(times)) == 2
    assert Delivery.objects.get(pk=late.pk).attempted_at == NOW + timedelta(minutes=3)


def test_an_attempt_that_raises_is_counted_and_ends_no_round(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    broken = make_delivery(make_rule(receiver, name="Broken", secret="whsec_secret"))
    make_delivery(make_rule(receiver))
    assert send_due(at(NOW)) == 2
    assert len(receiver.received) == 1
    broken.refresh_from_db()
    assert (broken.status, broken.num_attempts, broken.answer) == ("waiting", 1, "The attempt failed (Error).")
    assert broken.due_at == NOW + timedelta(minutes=1)
    assert "token=hidden" not in caplog.text


def test_a_last_attempt_that_its_process_did_not_outlive_is_not_repeated(receiver: Receiver) -> None:
    make_delivery(make_rule(receiver), num_attempts=MAX_ATTEMPTS)
    assert send_due(at(NOW)) == 0
    assert receiver.received == []
    found = Delivery.objects.get()
    assert (found.status, found.due_at, found.answer) == ("failed", None, "The last attempt was broken off.")


def test_a_rule_that_was_switched_off_sends_no_waiting_alert(receiver: Receiver) -> None:
    make_delivery(make_rule(receiver, is_enabled=False))
    send_due(at(NOW))
    assert receiver.received == []
    assert (Delivery.objects.get().status, Delivery.objects.get().answer) == ("failed", "The rule was switched off.")


def test_alerts_of_a_deleted_rule_are_given_up(receiver: Receiver) -> None:
    rule = make_rule(receiver)
    make_delivery(rule)
    rule.delete()
    send_due(at(NOW))
    assert receiver.received == []
    assert (Delivery.objects.get().status, Delivery.objects.get().rule_name) == ("failed", "On call")


def test_the_connection_goes_to_the_checked_address_under_the_webhooks_name(receiver: Receiver) -> None:
    target = Target(f"http://hooks.example.org:{receiver.port}/x", "hooks.example.org", receiver.port, "127.0.0.1")
    assert asyncio.run(webhook.post(target, new_secret(), "alert_1", {})).is_taken
    assert receiver.received[0].headers["host"] == f"hooks.example.org:{receiver.port}"


def test_a_receiver_that_drips_its_headers_does_not_hold_the_sender(dripping: int) -> None:
    target = Target(f"http://hooks.example.org:{dripping}/x", "hooks.example.org", dripping, "127.0.0.1")
    answer = asyncio.run(webhook.post(target, new_secret(), "alert_1", {}, longest_s=0.5))
    assert (answer.is_taken, answer.text, answer.may_retry) == (False, "The receiver did not answer in time.", True)


def test_nothing_secret_is_logged(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    rule = make_rule(receiver)
    make_delivery(rule)
    with caplog.at_level(logging.INFO):
        send_due(at(NOW))
    assert "HTTP 200" in caplog.text
    assert "token=hidden" not in caplog.text
    assert rule.secret not in caplog.text


def test_an_email_reaches_the_mail_server(inbox: Inbox) -> None:
    rule = make_rule(channel="email", address="anna@example.org")
    make_delivery(rule, title="Cost rose.\nBcc: eve@example.org")
    send_due(at(NOW))
    (mail,) = inbox.messages
    assert (mail["to"], mail["from"]) == ("anna@example.org", "alerts@example.org")
    assert mail["subject"] == "Sightglass: Cost rose. Bcc: eve@example.org"
    assert mail["bcc"] is None
    assert "See it: http://x/admin/" in mail.get_payload()
    assert Delivery.objects.get().answer == "The mail server took it."


def test_a_refused_recipient_is_not_tried_again(inbox: Inbox) -> None:
    make_delivery(make_rule(channel="email", address="nobody@example.org"))
    send_due(at(NOW))
    assert inbox.messages == []
    assert (Delivery.objects.get().status, Delivery.objects.get().answer) == (
        "failed",
        "The mail server refused the recipient.",
    )


def test_a_test_whose_operator_leaves_says_so(dripping: int, settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, webhook_hosts=[INTERNAL])
    rule = make_rule(channel="webhook", address=f"http://{INTERNAL}:{dripping}/hook", secret=new_secret())

    async def leave() -> None:
        sending = asyncio.create_task(send_test(rule, NOW))
        while not await Delivery.objects.aexists():
            await asyncio.sleep(0.01)
        sending.cancel()
        await asyncio.wait([sending])

    async_to_sync(leave)()
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.answer) == ("failed", "The page was closed before the receiver answered.")


def test_without_a_mail_server_the_log_says_so() -> None:
    make_delivery(make_rule(channel="email", address="anna@example.org"))
    send_due(at(NOW))
    assert "SIGHTGLASS_EMAIL_URL is unset" in Delivery.objects.get().answer


class TestOperations:
    def test_rules_are_made_tried_changed_and_deleted(self, operator: Client, receiver: Receiver) -> None:
        body = {"name": "On call", "channel": "webhook", "address": receiver.url, "kinds": ["cost"]}
        made = post(operator, "/api/alerts/rules", body)
        assert made.status_code == 201, made.content
        rule = made.json()["rule"]
        assert rule["address"] == "http://localhost/…"
        assert made.json()["secret"].startswith("whsec_")
        tried = post(operator, f"/api/alerts/rules/{rule['id']}/test", None)
        assert (tried.json()["status"], tried.json()["answer"], tried.json()["is_test"]) == ("sent", "HTTP 200", True)
        assert json.loads(receiver.received[0].body)["type"] == "test"
        path = f"/api/alerts/rules/{rule['id']}"
        changed = operator.patch(path, json.dumps({"is_enabled": False}), content_type="application/json")
        assert changed.json()["is_enabled"] is False
        listed = operator.get("/api/alerts").json()
        assert [each["name"] for each in listed["rules"]] == ["On call"]
        assert [each["answer"] for each in listed["deliveries"]] == ["HTTP 200"]
        assert "token=hidden" not in json.dumps(listed)
        assert operator.delete(path).status_code == 204
        assert not AlertRule.objects.exists()
        assert Delivery.objects.count() == 1

    def test_each_change_is_in_the_audit_log_without_its_secrets(self, operator: Client, receiver: Receiver) -> None:
        body = {"name": "On call", "channel": "webhook", "address": receiver.url}
        made = post(operator, "/api/alerts/rules", body).json()
        post(operator, f"/api/alerts/rules/{made['rule']['id']}/test", None)
        operator.delete(f"/api/alerts/rules/{made['rule']['id']}")
        entries = LogEntry.objects.filter(content_type__model="alertrule")
        assert entries.count() == 3
        assert {entry.actor.username for entry in entries if entry.actor} == {"olive"}
        told = " ".join(json.dumps(entry.changes) for entry in entries)
        assert "token=hidden" not in told
        assert made["secret"] not in told

    @pytest.mark.parametrize(
        "address", ["http://127.0.0.1/", "http://169.254.169.254/latest", "not a url", "https://[::1]/"]
    )
    def test_a_bad_webhook_is_refused_with_the_reason(self, operator: Client, address: str) -> None:
        refused = post(operator, "/api/alerts/rules", {"name": "a", "channel": "webhook", "address": address})
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, "address")

    def test_a_bad_email_address_and_a_taken_name_are_refused(self, operator: Client) -> None:
        body = {"name": "a", "channel": "email", "address": "anna@example.org\r\nBcc: eve@example.org"}
        assert post(operator, "/api/alerts/rules", body).status_code == 400
        body["address"] = "anna@example.org"
        assert post(operator, "/api/alerts/rules", body).status_code == 201
        assert post(operator, "/api/alerts/rules", body).json()["error"]["code"] == "exists"

    def test_the_list_says_that_email_is_not_set_up(self, operator: Client) -> None:
        assert operator.get("/api/alerts").json()["email_sender"] == ""

    @pytest.mark.parametrize("held", [(), ("view_usagerecord",), ("change_alertrule",)])
    def test_both_permissions_are_needed(self, held: tuple[str, ...], client: Client) -> None:
        bob = User.objects.create_user("bob")
        bob.user_permissions.add(*Permission.objects.filter(codename__in=held))
        client.force_login(bob)
        rule = make_rule(channel="email", address="anna@example.org")
        assert client.get("/api/alerts").status_code == 403
        assert post(client, f"/api/alerts/rules/{rule.pk}/test", None).status_code == 403
        assert client.delete(f"/api/alerts/rules/{rule.pk}").status_code == 403
        body = {"name": "b", "channel": "email", "address": "bob@example.org"}
        assert post(client, "/api/alerts/rules", body).status_code == 403
