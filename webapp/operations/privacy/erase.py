"""Erases a blocked user's data, from wherever an earlier run stopped. Knows nothing of HTTP and of processes.

Each step may be repeated. A search that finds nothing any more, a minute after the block, is the last: requests of the
user that were under way then have long ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta

from auditlog.context import disable_auditlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from webapp.ground.audit.log import record
from webapp.operations.privacy import keys
from webapp.operations.privacy.alert_data import forget_in_alerts
from webapp.operations.privacy.audit_data import forget_names_in
from webapp.operations.privacy.block import stop_open
from webapp.operations.privacy.holdings import Holding, holdings
from webapp.operations.privacy.models import Erasure
from webapp.operations.privacy.names import make_nameless, new_name_of
from webapp.operations.privacy.overwrite import overwrite
from webapp.requests.models import Request
from webapp.usage.models import UsageRecord

LATE = timedelta(minutes=1)
"""A request of the user that passed the sign-in before the block has written by then."""
_AT_ONCE = 100
"""Rows per transaction, so that other writers wait for moments only."""


def unfinished() -> QuerySet[Erasure]:
    return Erasure.objects.filter(done_at=None).order_by("begun_at")


def advance(user_id: int, now: datetime) -> None:
    """Search the user's data once and delete what is found. Raises RedisError.

    Open requests end first: their settlement posts the bill.
    """
    erasure = Erasure.objects.select_related("user").get(pk=user_id)
    if erasure.state == "done" or stop_open(user_id):
        return
    num_keys = _forget_keys(user_id)
    if erasure.erased_at is None:
        keys.forget_shared()
    new_name = new_name_of(user_id)
    num_rows = sum(_delete_all(each, erasure.user, new_name) for each in holdings() if each.goes and each.is_direct)
    if erasure.erased_at is None:
        with transaction.atomic():
            _count(user_id, forget_in_alerts(erasure.user, new_name))
            make_nameless(erasure.user, new_name)
    _note(user_id, now, is_clean=not num_keys and not num_rows)


def _note(user_id: int, now: datetime, is_clean: bool) -> None:
    """Note how far the erasure is."""
    erasure = Erasure.objects.select_related("user").get(pk=user_id)
    if not is_clean:
        erasure.is_overwritten = False
    if not erasure.is_overwritten:
        erasure.is_overwritten = keys.rewrite_file() and overwrite(erasure.deleted)
    erasure.erased_at = erasure.erased_at or now
    if is_clean and erasure.is_overwritten and now >= erasure.begun_at + LATE:
        erasure.done_at = now
        record(erasure.user, "erased", after={"rows": sum(erasure.deleted.values())})
    erasure.save(update_fields=["is_overwritten", "erased_at", "done_at"])


def _forget_keys(user_id: int) -> int:
    def owned(ids: set[str]) -> set[str]:
        rows = Request.objects.filter(user_id=user_id, pk__in=ids).values_list("pk", flat=True)
        # A request that is deleted already still has its record.
        records = UsageRecord.objects.filter(user_id=user_id, request_id__in=ids).values_list("request_id", flat=True)
        return {*rows, *records}

    return keys.forget(user_id, owned)


def _delete_all(holding: Holding, user: User, new_name: str) -> int:
    """Delete the user's rows of a table, with all that hangs on them; return their number."""
    num = 0
    while ids := list(holding.rows(user.pk).values_list("pk", flat=True)[:_AT_ONCE]):
        # The audit log would tell every value of each row.
        with transaction.atomic(), disable_auditlog():
            forget_names_in(holding.model, ids, user, new_name)
            num_deleted, by_label = holding.model._base_manager.filter(pk__in=ids).delete()
            _count(user.pk, by_label)
        num += num_deleted
    return num


def _count(user_id: int, by_label: Mapping[str, int]) -> None:
    """Add to the erasure's count, in the transaction that deletes."""
    erasure = Erasure.objects.select_for_update().get(pk=user_id)
    lower = {label.lower(): num for label, num in by_label.items()}
    erasure.deleted = dict(Counter(erasure.deleted) + Counter(lower))
    erasure.save(update_fields=["deleted"])
