"""Operations that export and erase all data of a user, for the user and for operators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache, partial
from typing import IO

import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, StreamingHttpResponse

from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX
from webapp.api import turns
from webapp.api.operators import checked_operator, signed_in_user
from webapp.api.usage.limits import find_user
from webapp.ground.audit.log import record
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.lifecycle.stream.frames import read
from webapp.operations.privacy.block import LastSuperuser, begin, is_erased, is_last_superuser
from webapp.operations.privacy.export import export
from webapp.operations.privacy.holdings import holdings
from webapp.operations.privacy.models import Erasure, State

EXPORT, ERASE = "privacy.export_user", "privacy.erase_user"
_EXPORT_REFUSAL = "Only operators with the permission to export users' data see it and export it."
_ERASE_REFUSAL = "Only operators with the permission to erase users' data erase it."
_PIECE = 1 << 20
_LONGEST_EXPORT_S = 3600


class ConfirmedErasure(Body):
    """The confirmation of an erasure."""

    name: str
    """The account's name, typed by the person who asks."""


class HeldRows(Result):
    """Rows of a user in one table."""

    table: str
    num: int


class UserData(Result):
    """The data that the product holds of a user, and the state of its erasure."""

    user_id: int
    name: str
    goes: list[HeldRows]
    """Rows that an erasure deletes."""
    stays: list[HeldRows]
    """Rows that an erasure leaves, without a name: bills, sums of use and the audit log need them."""
    erasure: State | None
    """Null: none was begun. `searching`: all is deleted, and late writes are looked for."""
    begun_at: datetime | None
    num_deleted: int
    """Rows that the erasure has deleted so far."""
    is_erased: bool
    """An erasure, begun or done, keeps the account closed."""
    is_last_superuser: bool
    """No other account could do everything: this one stays."""
    may_export: bool
    """The reader may export the data."""
    may_erase: bool


def show_own_data(request: HttpRequest) -> UserData:
    """Show the data that the product holds of the user."""
    user = signed_in_user(request)
    return _shown(user, user)


def show_user_data(request: HttpRequest, user_id: int) -> UserData:
    """Show the data that the product holds of a user, for operators. 403 `forbidden`."""
    reader = signed_in_user(request)
    if not reader.has_perm(EXPORT) and not reader.has_perm(ERASE):
        raise ApiError(403, "forbidden", f"{_EXPORT_REFUSAL} Ask an administrator.")
    return _shown(find_user(user_id), reader)


@answers(200, media="application/zip")
def export_own_data(request: HttpRequest) -> StreamingHttpResponse:
    """Export all data of the user as a ZIP file of one moment. 409 `exporting`; 429 `export_busy`; 507 `disk_full`."""
    return _exported(signed_in_user(request))


@answers(200, media="application/zip")
def export_user_data(request: HttpRequest, user_id: int) -> StreamingHttpResponse:
    """Export all data of a user, for operators. 403 `forbidden`; 409 `exporting`; 429 `export_busy`;
    507 `disk_full`.
    """
    user = _under(checked_operator(request, EXPORT, _EXPORT_REFUSAL), find_user(user_id))
    record(user, "exported all data of")
    return _exported(user)


@answers(202)
def erase_own_data(request: HttpRequest, body: ConfirmedErasure) -> UserData:
    """Erase all data of the user for good, and close the account. 400 `wrong_name`; 409 `last_superuser`."""
    user = signed_in_user(request)
    return _erased(user, user, body.name)


@answers(202)
def erase_user_data(request: HttpRequest, user_id: int, body: ConfirmedErasure) -> UserData:
    """Erase all data of a user for good, for operators. 400 `wrong_name`; 403 `forbidden`; 409 `last_superuser`."""
    operator = checked_operator(request, ERASE, _ERASE_REFUSAL)
    return _erased(_under(operator, find_user(user_id)), operator, body.name)


def _under(operator: User, user: User) -> User:
    """The user, whom the operator may act on. Raises ApiError."""
    if user.is_superuser and not operator.is_superuser:
        raise ApiError(403, "forbidden", "Only superusers export or erase a superuser's data. Ask one.")
    return user


def _shown(user: User, reader: User) -> UserData:
    erasure = Erasure.objects.filter(pk=user.pk).first()
    is_under = reader.is_superuser or not user.is_superuser
    is_closed, is_last = is_erased(user), is_last_superuser(user)
    counted = [(each.goes, HeldRows(each.label, each.rows(user.pk).count())) for each in holdings()]
    return UserData(
        user_id=user.pk,
        name=user.username,
        goes=[held for goes, held in counted if goes and held.num],
        stays=[held for goes, held in counted if not goes and held.num],
        erasure=erasure.state if erasure else None,
        begun_at=erasure.begun_at if erasure else None,
        num_deleted=sum(erasure.deleted.values()) if erasure else 0,
        is_erased=is_closed,
        is_last_superuser=is_last,
        may_export=reader == user or (is_under and reader.has_perm(EXPORT)),
        may_erase=(reader == user or (is_under and reader.has_perm(ERASE))) and not (is_closed or is_last),
    )


def _erased(user: User, asked_by: User, name: str) -> UserData:
    if name != user.username:
        raise ApiError(400, "wrong_name", f"Type the account's name, {user.username}, to erase its data.", "name")
    try:
        begin(user, asked_by)
    except LastSuperuser:
        message = "This is the last superuser. Make another account a superuser first, then erase this one."
        raise ApiError(409, "last_superuser", message) from None
    user.refresh_from_db()
    return _shown(user, asked_by)


def _exported(user: User) -> StreamingHttpResponse:
    with _one_at_a_time(user.pk), turns.exports().turn(user.pk):
        try:
            file = export(user)
        except OSError as error:
            message = f"The server's disk has no room for the file ({error.strerror}). Ask an administrator."
            raise ApiError(507, "disk_full", message) from None
    response = StreamingHttpResponse(_pieces(file), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="sightglass-account-{user.pk}.zip"'
    response["Cache-Control"] = "no-store"
    return response


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while piece := await read(partial(file.read, _PIECE)):
            yield piece
    finally:
        file.close()


@contextmanager
def _one_at_a_time(user_id: int) -> Iterator[None]:
    """Hold the lock of the user's export, which may fill the disk. Raises ApiError, RedisError."""
    key = f"{PREFIX}export:{user_id}"
    if not _client().set(key, 1, nx=True, ex=_LONGEST_EXPORT_S):
        raise ApiError(409, "exporting", "An export of this account is being made. Wait for its end.")
    try:
        yield
    finally:
        _client().delete(key)


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)
