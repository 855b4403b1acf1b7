"""Writes entries of the audit log. Knows nothing of which actions there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from auditlog.context import disable_auditlog
from auditlog.models import LogEntry
from auditlog.registry import auditlog
from django.db.models import Model


def audited(
    model: type[Model], *, without: Sequence[str] = (), secret: Sequence[str] = (), many: Sequence[str] = ()
) -> None:
    """Write an entry for each row of this model that is made, changed or deleted.

    without: fields that do not matter. secret: fields whose change is told without their values.
    many: many-to-many fields. Updates and deletes in bulk, by a QuerySet, write no entry: call `record` for these.
    """
    auditlog.register(
        model,
        include_fields=_own_fields(model, without),
        mask_fields=list(secret),
        mask_callable="webapp.ground.audit.log.hidden",
        m2m_fields=set(many),
    )


def _own_fields(model: type[Model], without: Sequence[str]) -> list[str]:
    """The model's own columns. The library would also compare the rows of other models that point here."""
    columns = model._meta.concrete_fields
    return [field.name for field in columns if not field.primary_key and field.name not in without]


def record(
    subject: Model,
    action: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    note: str = "",
) -> None:
    """Write an entry for an action that is more than a change of one row.

    subject: the saved row that the action concerns, such as a user.
    action: the action in the past tense, such as `stopped the requests of`; the page adds the subject's name.
    before, after: plain JSON values, the same names on both sides; a name that one side lacks is null there.
    note: the operator's own reason.
    """
    names = dict.fromkeys([*(before or {}), *(after or {})])
    changes = {name: [(before or {}).get(name), (after or {}).get(name)] for name in names}
    more = {"action": action, "note": note}
    LogEntry.objects.log_create(
        subject, force_log=True, action=LogEntry.Action.UPDATE, changes=changes, additional_data=more
    )


@contextmanager
def unrecorded() -> Iterator[None]:
    """Write no entries of changes in the block, as for demonstration data."""
    with disable_auditlog():
        yield


def hidden(_value: str) -> str:
    """Return the mark that stands for a secret."""
    return "(hidden)"
