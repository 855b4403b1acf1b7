"""Operations on the rules of alerts: list, make, change, delete, try. For operators who may change them."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Literal

import msgspec
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpRequest
from django.utils import timezone

from webapp.api.operators import checked_operator
from webapp.api.usage.usage import checked_reader
from webapp.ground.audit.log import record
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.names import checked_name, save_named
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.usage.alerts import models
from webapp.usage.alerts.deliver import outside, send_test
from webapp.usage.alerts.target import BadTarget, check_target, check_url
from webapp.usage.alerts.webhook import new_secret
from webapp.usage.findings.finding import Kind, Severity

PERMISSION = "alerts.change_alertrule"
_MAX_RULES = 50
_NUM_DELIVERIES = 50
Channel = Literal["email", "webhook"]


class NewAlertRule(Body):
    """A rule to make."""

    name: str
    channel: Channel
    address: str
    """An e-mail address, or the URL of a webhook."""
    kinds: list[Kind] = msgspec.field(default_factory=list)
    """Kinds of findings; empty: all."""
    least_severity: Severity = "medium"


class AlertRuleChange(Body):
    """Changes of a rule; null: no change."""

    name: str | None = None
    kinds: list[Kind] | None = None
    least_severity: Severity | None = None
    is_enabled: bool | None = None


class AlertRule(Result):
    """Findings that are sent to one address."""

    id: int
    name: str
    channel: Channel
    address: str
    """Of a webhook only scheme and host: the rest can be a secret."""
    kinds: list[Kind]
    least_severity: Severity
    is_enabled: bool
    created_at: datetime


class CreatedAlertRule(Result):
    """A new rule, with the secret of its webhook."""

    rule: AlertRule
    secret: str
    """Verifies the signatures, as the Standard Webhooks specification says. Shown only now; empty for e-mail."""


class AlertDelivery(Result):
    """One alert and what became of it."""

    id: int
    rule_name: str
    title: str
    is_test: bool
    status: Literal["waiting", "sent", "failed"]
    num_attempts: int
    answer: str
    created_at: datetime
    attempted_at: datetime | None
    due_at: datetime | None
    """Time of the next attempt; null: there is none."""


class Alerts(Result):
    """The rules, and the newest deliveries."""

    rules: list[AlertRule]
    deliveries: list[AlertDelivery]
    email_sender: str
    """Sender of the e-mails; empty: e-mail is not set up."""


def list_alerts(request: HttpRequest) -> Alerts:
    """List the rules by name, and the newest 50 deliveries. 403 `forbidden`."""
    _check(request)
    email = settings.ENVIRONMENT.email
    return Alerts(
        rules=[_shown(rule) for rule in models.AlertRule.objects.order_by("name")],
        deliveries=[_delivery(each) for each in models.Delivery.objects.order_by("-pk")[:_NUM_DELIVERIES]],
        email_sender="" if email is None else email.sender,
    )


@answers(201)
async def create_alert_rule(request: HttpRequest, body: NewAlertRule) -> CreatedAlertRule:
    """Make a rule. 400 `invalid` for an address that must not be told; 409 `exists`, `too_many` (50)."""
    creator = await sync_to_async(_check_room)(request)
    await outside(partial(_check_address, body.channel, body.address))
    return await sync_to_async(_created)(body, creator)


def _check_room(request: HttpRequest) -> int:
    """The operator's id. Raises ApiError where there is no room for another rule."""
    creator = _check(request)
    if models.AlertRule.objects.count() >= _MAX_RULES:
        raise ApiError(409, "too_many", f"There are {_MAX_RULES} rules, the limit. Delete one first.")
    return creator


def _created(body: NewAlertRule, creator: int) -> CreatedAlertRule:
    """Save the rule. Raises ApiError."""
    secret = new_secret() if body.channel == "webhook" else ""
    rule = models.AlertRule(
        name=checked_name(body.name, "rule"),
        channel=body.channel,
        address=body.address,
        secret=secret,
        kinds=sorted(set(body.kinds)),
        least_severity=body.least_severity,
        created_by_id=creator,
        created_at=timezone.now(),
    )
    save_named(rule, "rule")
    return CreatedAlertRule(_shown(rule), secret)


def change_alert_rule(request: HttpRequest, rule_id: int, body: AlertRuleChange) -> AlertRule:
    """Change a rule. Its channel and address stay. 409 `exists`."""
    rule = _find(request, rule_id)
    if body.name is not None:
        rule.name = checked_name(body.name, "rule")
    if body.kinds is not None:
        rule.kinds = sorted(set(body.kinds))
    if body.least_severity is not None:
        rule.least_severity = body.least_severity
    if body.is_enabled is not None:
        rule.is_enabled = body.is_enabled
    save_named(rule, "rule")
    return _shown(rule)


def delete_alert_rule(request: HttpRequest, rule_id: int) -> None:
    """Delete a rule. Its deliveries stay in the log; those that wait are given up."""
    _find(request, rule_id).delete()


async def try_alert_rule(request: HttpRequest, rule_id: int) -> AlertDelivery:
    """Send a test at once, and return what became of it."""
    rule = await sync_to_async(_find)(request, rule_id)
    await sync_to_async(record)(rule, "sent a test of")  # before it: an operator who leaves cancels what follows
    return _delivery(await send_test(rule, timezone.now()))


def _check(request: HttpRequest) -> int:
    """The operator's id. An alert tells of all users' usage, so both permissions are needed. Raises ApiError."""
    checked_reader(request)
    user_id: int = checked_operator(request, PERMISSION, "Only operators who may change rules of alerts see them.").pk
    return user_id


def _find(request: HttpRequest, rule_id: int) -> models.AlertRule:
    _check(request)
    found = models.AlertRule.objects.filter(pk=rule_id).first()
    if found is None:
        raise not_found("rule")
    return found


def _check_address(channel: Channel, address: str) -> None:
    """Raises ApiError."""
    try:
        if len(address) > 500:
            raise BadTarget("The address is longer than 500 characters.")
        if channel == "webhook":
            check_target(address, settings.ENVIRONMENT.webhook_hosts)
        else:
            validate_email(address)
    except BadTarget as error:
        raise ApiError(400, "invalid", str(error), "address") from None
    except ValidationError:
        raise ApiError(
            400, "invalid", "address must be an e-mail address, such as anna@example.org.", "address"
        ) from None


def _shown(rule: models.AlertRule) -> AlertRule:
    address = rule.address
    if rule.channel == "webhook":
        host, _ = check_url(address)
        address = f"{address.partition('://')[0]}://{host}/…"
    return AlertRule(
        id=rule.pk,
        name=rule.name,
        channel=rule.channel,  # type: ignore[arg-type]
        address=address,
        kinds=rule.kinds,
        least_severity=rule.least_severity,  # type: ignore[arg-type]
        is_enabled=rule.is_enabled,
        created_at=rule.created_at,
    )


def _delivery(each: models.Delivery) -> AlertDelivery:
    return AlertDelivery(
        id=each.pk,
        rule_name=each.rule_name,
        title=each.title,
        is_test=not each.finding_key,
        status=each.status,  # type: ignore[arg-type]
        num_attempts=each.num_attempts,
        answer=each.answer,
        created_at=each.created_at,
        attempted_at=each.attempted_at,
        due_at=each.due_at,
    )
