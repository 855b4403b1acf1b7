"""Makes, finds, cancels and deletes batches for their user. Knows nothing of how they run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from webapp.celery import app
from webapp.identity.keys.keys import OutOfScope, may
from webapp.identity.keys.models import ApiKey, Feature
from webapp.lifecycle.admission import lock_user
from webapp.requests.delivery import Key, Once, claim, once
from webapp.surfaces.batches.bounds import WINDOW, check_batches, check_room
from webapp.surfaces.batches.models import Batch, Line
from webapp.surfaces.batches.paging import Rows, rows_after
from webapp.surfaces.batches.reading import ReadLine, models_of

logger = logging.getLogger(__name__)

_AT_ONCE = 500
"""Lines that one statement saves."""


@dataclass(frozen=True)
class Counts:
    """Lines of a batch by their state, and the tokens of its answers."""

    waiting: int = 0
    open: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    @property
    def total(self) -> int:
        return self.waiting + self.open + self.succeeded + self.errored + self.canceled + self.expired


def create(batch: Batch, lines: Sequence[ReadLine], key: Key | None) -> Once[Batch]:
    """Save a new batch with its lines; without lines its file is read later. Raises ApiError, KeyReused, NotBegun."""

    def work() -> Batch:
        batch.expires_at = batch.created_at + WINDOW
        with transaction.atomic():
            lock_user(batch.user_id)
            claim(key, [batch.pk])
            check_batches(batch.user_id)
            check_room(batch.user_id, sum(len(line.body.encode()) for line in lines))
            batch.save(force_insert=True)
            if lines:
                save_lines(batch, lines)
        return batch

    done = once(key, work, lambda ids: Batch.objects.filter(pk=ids[0]).first())
    if not done.is_repeat:
        nudge(batch.pk)
    return done


def save_lines(batch: Batch, lines: Iterable[ReadLine]) -> None:
    """Save a batch's lines, in a transaction. From then on they may run."""
    lines = list(lines)
    rows = (
        Line(
            batch=batch,
            index=index,
            custom_id=line.custom_id,
            model=line.model,
            body=line.body,
            num_bytes=len(line.body.encode()),
        )
        for index, line in enumerate(lines)
    )
    Line.objects.bulk_create(rows, batch_size=_AT_ONCE)
    batch.model_ids = models_of(lines)
    batch.num_stored_bytes = sum(len(line.body.encode()) for line in lines)
    batch.status, batch.in_progress_at = Batch.Status.IN_PROGRESS, timezone.now()
    batch.save(update_fields=["model_ids", "num_stored_bytes", "status", "in_progress_at"])


def nudge(batch_id: str) -> None:
    """Let a lifecycle worker look at the batch now. Without the queue it looks a few seconds later."""
    try:
        app.send_task("batches.advance", args=[batch_id])
    except (OperationalError, RedisError, OSError) as error:
        logger.warning("%s begins later: %s", batch_id, error)


def cancel(batch: Batch) -> Batch:
    """Let no further line begin. Those that are open run to their end. One that has ended stays as it is."""
    live = [Batch.Status.VALIDATING, Batch.Status.IN_PROGRESS]
    now = timezone.now()
    Batch.objects.filter(pk=batch.pk, status__in=live).update(status=Batch.Status.CANCELLING, cancelling_at=now)
    nudge(batch.pk)
    return Batch.objects.select_related("key").get(pk=batch.pk)


def page_of(
    user_id: int,
    key: ApiKey | None,
    limit: int,
    *,
    family: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Rows[Batch]:
    """Some of the user's batches, the newest first, as far as the key's models let it see them.

    family: None: of all. after: the batch after which they begin; before: the one before which they end. One that is
    not in the list counts for nothing.
    """
    own = Batch.objects.filter(user_id=user_id).select_related("key")
    rows = own if family is None else own.filter(family=family)

    def sees(batch: Batch) -> bool:
        return _is_within(batch, key)

    if before is not None and (end := rows.filter(pk=before).first()) is not None:
        found = rows_after(rows, end, limit, is_ascending=True, sees=sees)
        return Rows(found.rows[::-1], found.has_more)
    start = None if after is None else rows.filter(pk=after).first()
    return rows_after(rows, start, limit, sees=sees)


def find(user_id: int, key: ApiKey | None, batch_id: str, family: str | None = None) -> Batch | None:
    """The user's own batch; None: there is none, or it is another user's, or of models outside the key's scope."""
    own = Batch.objects.filter(pk=batch_id, user_id=user_id)
    batch = (own if family is None else own.filter(family=family)).first()
    return batch if batch is not None and _is_within(batch, key) else None


def check_feature(key: ApiKey | None, only_reads: bool) -> None:
    """Raises OutOfScope where the key has no batches; reading them needs `batches` or `read`."""
    needed: tuple[Feature, ...] = ("batches", "read") if only_reads else ("batches",)
    if key is not None and not any(may(key, feature) for feature in needed):
        raise OutOfScope("batches")


def counts_of(batches: Sequence[Batch]) -> dict[str, Counts]:
    """The counts of several batches, by their ids."""
    lines: QuerySet[Line] = Line.objects.filter(batch__in=batches).order_by()
    counted = {status.value: Count("pk", filter=Q(status=status)) for status in Line.Status}
    sums = {name: Sum(f"num_{name}", default=0) for name in ("input_tokens", "cached_tokens", "output_tokens")}
    rows: Any = lines.values("batch_id").annotate(**counted, **sums)
    found = {row["batch_id"]: Counts(**{name: row[name] for name in (*counted, *sums)}) for row in rows}
    return {batch.pk: found.get(batch.pk, Counts()) for batch in batches}


def costs_of(batches: Sequence[Batch]) -> dict[str, dict[str, int]]:
    """The cost of several batches' ended lines by their ids and by currency, in billionths of its unit."""
    billed = Line.objects.filter(batch__in=batches).exclude(cost_nano=None).order_by()
    costs: dict[str, dict[str, int]] = {batch.pk: {} for batch in batches}
    for row in billed.values("batch_id", "currency").annotate(nano=Sum("cost_nano")).order_by("currency"):
        costs[row["batch_id"]][row["currency"]] = row["nano"]
    return costs


def _is_within(batch: Batch, key: ApiKey | None) -> bool:
    """A batch that is not read yet, or was refused, has no models: another key of some models does not see it."""
    if key is None or not key.models or batch.key_id == key.pk:
        return True
    return bool(batch.model_ids) and set(batch.model_ids) <= set(key.models)
