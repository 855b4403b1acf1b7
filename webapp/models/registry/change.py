"""Changes of the registry by operators: each one is allowed by the row's state, or refused with advice.

Knows nothing of workers: the supervisor starts and stops them as the rows say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.utils import timezone

from webapp.models.registry.models import RegisteredModel
from webapp.models.registry.source_checks import BadField, Place, check_all, check_id, check_num_workers, check_vision

State = RegisteredModel.State


class CannotChange(Exception):
    """The model's state does not allow it; the message says what to do."""


class ModelExists(Exception):
    """The id is taken."""


@dataclass(frozen=True)
class Change:
    """The fields to change; None: a field stays."""

    state: str | None = None
    is_default: bool | None = None
    num_workers: int | None = None
    path: str | None = None
    url: str | None = None
    key: str | None = None
    has_vision: bool | None = None

    def place_of(self, row: RegisteredModel) -> Place:
        """Where the model is after the change. Another address does not get the key of the first."""
        url = row.url if self.url is None else self.url
        key = "" if url != row.url else row.key
        return Place(row.kind, row.path if self.path is None else self.path, url, key if self.key is None else self.key)


def place_of(row: RegisteredModel) -> Place:
    return Place(row.kind, row.path, row.url, row.key)


def register(model: str, place: Place, num_workers: int, checker_id: int, has_vision: bool = False) -> RegisteredModel:
    """Add a model and ask for its check. Raises BadFields, ModelExists."""
    check_all(
        lambda: check_id(model),
        place.check,
        lambda: check_num_workers(num_workers),
        lambda: check_vision(place.kind, has_vision),
    )
    row = RegisteredModel(pk=model, kind=place.kind, path=place.path, url=place.url, key=place.key)
    row.num_workers, row.has_vision = num_workers, has_vision
    _begin_check(row, checker_id)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise ModelExists from None
    return row


def change(model: str, wanted: Change, num_open: int, operator_id: int) -> RegisteredModel:
    """Change a model. num_open: its open requests. Raises BadField, BadFields, CannotChange, DoesNotExist."""
    found = RegisteredModel.objects.get(pk=model)
    before, place = place_of(found), wanted.place_of(found)
    if place != before:
        place.check()  # without the lock: it reads files
    with transaction.atomic():
        rows = {each.pk: each for each in RegisteredModel.objects.select_for_update().order_by("pk")}
        if (row := rows.get(model)) is None:
            raise RegisteredModel.DoesNotExist
        if place_of(row) != before:
            raise CannotChange("Another operator has changed this model meanwhile. Look again.")
        if place != before:
            _move(row, place, operator_id)
        if wanted.num_workers is not None:
            _set_num_workers(row, wanted.num_workers)
        if wanted.has_vision is not None:
            check_vision(row.kind, wanted.has_vision)
            row.has_vision = wanted.has_vision
        if wanted.state is not None:
            _set_state(row, wanted.state, num_open, operator_id)
        if wanted.is_default is not None:
            _set_default(row, wanted.is_default, rows.values())
        row.save()
    return row


@transaction.atomic
def ask_for_check(model: str, operator_id: int) -> RegisteredModel:
    """Have a model checked again. Raises CannotChange, DoesNotExist."""
    row = RegisteredModel.objects.select_for_update().get(pk=model)
    if row.state == State.CHECKING:
        raise CannotChange("This model is being checked. Wait for the end.")
    _refuse_default(row)
    _begin_check(row, operator_id)
    row.save()
    return row


@transaction.atomic
def remove(model: str, num_open: int) -> None:
    """Take a model out of the registry. Raises CannotChange, DoesNotExist."""
    row = RegisteredModel.objects.select_for_update().get(pk=model)
    _refuse_configured(row)
    _refuse_default(row)
    if row.state in (State.ENABLED, State.DRAINED):
        raise CannotChange(f"This model is {row.state}. {_BEFORE_REMOVAL[row.state]}")
    if row.state == State.CHECKING:
        raise CannotChange("This model is being checked. Wait for the end, or retire it.")
    _refuse_open(num_open)
    row.delete()


_BEFORE_REMOVAL: dict[str, str] = {State.ENABLED: "Drain it, then retire it.", State.DRAINED: "Retire it first."}


def _begin_check(row: RegisteredModel, operator_id: int) -> None:
    """Workers that run already may take the test generation, unless the model has moved."""
    if row.state not in (State.ENABLED, State.DRAINED):
        row.run += 1
    row.state, row.message, row.check_request_id, row.text = State.CHECKING, "", "", ""
    row.checker_id, row.check_begun_at = operator_id, timezone.now()
    row.first_token_ms = row.tokens_per_s = None


def _move(row: RegisteredModel, place: Place, operator_id: int) -> None:
    _refuse_configured(row)
    _refuse_default(row)
    row.path, row.url, row.key = place.path, place.url, place.key
    row.state = State.RETIRED
    _begin_check(row, operator_id)


def _set_num_workers(row: RegisteredModel, num_workers: int) -> None:
    if row.is_configured and num_workers != row.num_workers:
        raise CannotChange("SIGHTGLASS_WORKERS says how many workers the configured model has. Change it there.")
    if not row.is_configured:
        check_num_workers(num_workers)
        row.num_workers = num_workers


def _set_state(row: RegisteredModel, state: str, num_open: int, operator_id: int) -> None:
    match state:
        case State.ENABLED:
            _enable(row, operator_id)
        case State.DRAINED:
            _drain(row)
        case State.RETIRED:
            _retire(row, num_open)
        case _:
            raise BadField("state", "A model is set to enabled, drained or retired.")


def _enable(row: RegisteredModel, operator_id: int) -> None:
    """A retired model has no workers: its check starts them, and enables it."""
    if row.state == State.RETIRED:
        _begin_check(row, operator_id)
    elif row.state == State.DRAINED:
        row.state = State.ENABLED
    elif row.state == State.FAILED:
        raise CannotChange("The last check of this model failed. Check it first: a good check enables it.")
    elif row.state == State.CHECKING:
        raise CannotChange("This model is being checked. A good check enables it.")


def _drain(row: RegisteredModel) -> None:
    if row.state not in (State.ENABLED, State.DRAINED):
        raise CannotChange(f"This model is {row.state}. Only an enabled one can be drained.")
    _refuse_default(row)
    row.state = State.DRAINED


def _retire(row: RegisteredModel, num_open: int) -> None:
    _refuse_configured(row)
    _refuse_default(row)
    if row.state == State.ENABLED:
        raise CannotChange("This model is enabled. Drain it first.")
    if row.state != State.RETIRED:
        _refuse_open(num_open)
    row.state = State.RETIRED


def _set_default(row: RegisteredModel, is_default: bool, rows: Iterable[RegisteredModel]) -> None:
    if not is_default:
        _refuse_default(row)
        return
    if row.state != State.ENABLED:
        raise CannotChange(f"This model is {row.state}. Only an enabled one can be the default.")
    for former in rows:
        if former.is_default and former is not row:
            former.is_default = False
            former.save()
    row.is_default = True


def _refuse_default(row: RegisteredModel) -> None:
    if row.is_default:
        raise CannotChange("This model is the default, which stays enabled. Make another model the default first.")


def _refuse_configured(row: RegisteredModel) -> None:
    if row.is_configured:
        raise CannotChange("The environment names this model. Change SIGHTGLASS_MODEL there, and start again.")


def _refuse_open(num_open: int) -> None:
    if num_open:
        what = "request of this model is" if num_open == 1 else "requests of this model are"
        raise CannotChange(f"{num_open} {what} open. Wait for the end, or stop them at /admin/live/.")
