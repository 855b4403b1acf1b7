"""Sends the alerts that are due, and plans the next attempt of one that failed.

The plan stands in the database, so it outlives a restart. A process claims an attempt by one conditional update.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import cache, partial
from traceback import format_tb
from typing import TypeVar

from django.conf import settings
from django.utils import timezone

from webapp.usage.alerts import mail, webhook
from webapp.usage.alerts.content import text_of, trial_content
from webapp.usage.alerts.models import AlertRule, Delivery
from webapp.usage.alerts.site import site_address
from webapp.usage.alerts.target import BadTarget, NotResolved, check_target
from webapp.usage.alerts.webhook import Answer

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 6
_FIRST_PAUSE = timedelta(minutes=1)
_GROWTH = 4
"""Pauses of 1, 4, 16, 64 and 256 minutes: six attempts within six hours."""
_CLAIM = timedelta(minutes=2)
"""Longer than an attempt takes. A process that dies in an attempt loses its claim then."""
_MAX_AT_ONCE = 20
_BROKEN_OFF = "The last attempt was broken off."
_NUM_OUTSIDE = 4
"""Mail servers and resolvers of names that one process waits for at once. Python asks both synchronously."""

Found = TypeVar("Found")


def send_due(clock: Callable[[], datetime] = timezone.now) -> int:
    """Send what is due. Returns the number of attempts."""
    waiting = Delivery.objects.filter(status="waiting", due_at__lte=clock())
    # Its process died in the last attempt.
    waiting.filter(num_attempts__gte=MAX_ATTEMPTS).update(status="failed", due_at=None, answer=_BROKEN_OFF)
    due = list(waiting.filter(num_attempts__lt=MAX_ATTEMPTS).order_by("due_at")[:_MAX_AT_ONCE])
    # Each takes its own time: a claim that begins when the round begins could end before the attempt.
    return sum(attempt(delivery, clock()) for delivery in due)


def attempt(delivery: Delivery, now: datetime) -> bool:
    """Send one alert, unless another process does. Returns True if it was tried."""
    mine = Delivery.objects.filter(pk=delivery.pk, status="waiting", num_attempts=delivery.num_attempts)
    if not mine.filter(due_at=delivery.due_at).update(num_attempts=delivery.num_attempts + 1, due_at=now + _CLAIM):
        return False
    delivery.num_attempts += 1
    answer = asyncio.run(_tried(delivery, delivery.rule))
    delivery.answer, delivery.attempted_at = answer.text[:300], now
    delivery.status, delivery.due_at = _next(delivery, answer, now)
    delivery.save(update_fields=["status", "answer", "attempted_at", "due_at"])
    logger.info("alert %d, attempt %d: %s", delivery.pk, delivery.num_attempts, delivery.answer)
    return True


async def send_test(rule: AlertRule, now: datetime) -> Delivery:
    """Send a test of a rule at once; it has one attempt. A caller that is cancelled leaves a failed one."""
    content = trial_content(rule.name, site_address())
    title = content["data"]["title"]
    delivery = Delivery(rule=rule, rule_name=rule.name, finding_key="", title=title, content=content, created_at=now)
    delivery.status, delivery.num_attempts = "failed", 1
    delivery.answer = "The page was closed before the receiver answered."
    await delivery.asave()
    answer = await _tried(delivery, rule)
    delivery.status, delivery.answer, delivery.attempted_at = "sent" if answer.is_taken else "failed", answer.text, now
    await delivery.asave()
    return delivery


def _next(delivery: Delivery, answer: Answer, now: datetime) -> tuple[str, datetime | None]:
    if answer.is_taken:
        return "sent", None
    if not answer.may_retry or delivery.num_attempts >= MAX_ATTEMPTS:
        return "failed", None
    return "waiting", now + _FIRST_PAUSE * _GROWTH ** (delivery.num_attempts - 1)


async def _tried(delivery: Delivery, rule: AlertRule | None) -> Answer:
    """Send it. An exception fails this attempt, and no other alert's."""
    try:
        return await _answer_of(delivery, rule)
    except Exception as error:
        name = type(error).__name__
        # An error's text can name the address.
        logger.error("alert %d: %s in\n%s", delivery.pk, name, "".join(format_tb(error.__traceback__)))
        return Answer(False, f"The attempt failed ({name}).")


async def _answer_of(delivery: Delivery, rule: AlertRule | None) -> Answer:
    if rule is None:
        return Answer(False, "The rule was deleted.", may_retry=False)
    is_test = not delivery.finding_key
    if not rule.is_enabled and not is_test:
        return Answer(False, "The rule was switched off.", may_retry=False)
    message_id = f"alert_{delivery.pk}"
    if rule.channel == "email":
        headers = {"Message-ID": f"<{message_id}@{_site_host()}>"}
        return await outside(partial(mail.send, rule.address, delivery.title, text_of(delivery.content), headers))
    try:
        target = await outside(partial(check_target, rule.address, settings.ENVIRONMENT.webhook_hosts))
    except BadTarget as error:
        return Answer(False, str(error), may_retry=isinstance(error, NotResolved))
    return await webhook.post(target, rule.secret, message_id, delivery.content)


async def outside(asks: Callable[[], Found]) -> Found:
    """Ask a mail server, or for the address of a name, beside the threads of requests."""
    return await asyncio.get_running_loop().run_in_executor(_outside(), asks)


@cache
def _outside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_NUM_OUTSIDE, "outside")


def _site_host() -> str:
    return site_address().partition("://")[2].replace(":", ".")
