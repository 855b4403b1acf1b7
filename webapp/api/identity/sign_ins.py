"""Operations on sign-ins: a user lists and ends the own ones; an operator ends all of one user."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

from webapp.api.identity.people import StopBody, checked_reason
from webapp.api.operators import checked_operator, signed_in_user
from webapp.api.usage.limits import check_rank, find_user
from webapp.ground.audit.log import record
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.structs import Result
from webapp.identity.accounts import sign_ins

END = "accounts.end_sign_ins"
MAX_LISTED = 100


class SignIn(Result):
    """A browser or program in which the user is signed in."""

    id: str
    browser: str
    """Empty: not known."""
    system: str
    """The operating system. Empty: not known."""
    network: str
    """The network of the address, such as `203.0.113.0/24`. The address itself is not kept. Empty: not known."""
    began_at: datetime
    seen_at: datetime
    """Last use, to the minute."""
    is_this: bool
    """The sign-in that asks."""


class SignIns(Result):
    """The user's sign-ins, and the times after which they end by themselves."""

    sign_ins: list[SignIn]
    """This one first, then the last used; at most 100."""
    idle_minutes: int
    """Without use a sign-in ends after so many minutes."""
    longest_minutes: int
    """A sign-in in use ends after so many minutes."""
    has_password: bool
    """The account has a password, which can be changed."""


class SignInsPreview(Result):
    """The sign-ins of a user that an operator would end."""

    num: int
    last_seen: datetime | None
    """Last use of one of them; null: there is none."""


class EndedSignIns(Result):
    """Sign-ins were ended."""

    num: int


def list_sign_ins(request: HttpRequest) -> SignIns:
    """List the user's own sign-ins."""
    user, key = signed_in_user(request), request.session.session_key
    found = sorted(sign_ins.sign_ins_of(user.pk), key=lambda each: not each.is_of(key))
    limits = settings.ENVIRONMENT
    return SignIns(
        sign_ins=[_shown(each, key) for each in found[:MAX_LISTED]],
        idle_minutes=limits.session_idle_minutes,
        longest_minutes=limits.session_minutes,
        has_password=user.has_usable_password(),
    )


def end_sign_in(request: HttpRequest, sign_in_id: str) -> None:
    """End one of the user's own sign-ins, also this one."""
    if not sign_ins.end(user_id(request), sign_in_id):
        raise not_found("sign-in")


def end_other_sign_ins(request: HttpRequest) -> EndedSignIns:
    """End all of the user's own sign-ins but this one."""
    return EndedSignIns(num=sign_ins.end_all(user_id(request), but=request.session.session_key))


def preview_end_of_sign_ins(request: HttpRequest, target_id: int) -> SignInsPreview:
    """Count the sign-ins of a user, for operators. 403 `forbidden`."""
    found = _endable(request, target_id)
    return SignInsPreview(num=len(sign_ins.sign_ins_of(found.pk)), last_seen=sign_ins.last_use(found.pk))


def end_user_sign_ins(request: HttpRequest, target_id: int, body: StopBody) -> EndedSignIns:
    """End all sign-ins of a user, for operators. The user may sign in again. 403 `forbidden`."""
    found, reason = _endable(request, target_id), checked_reason(body)
    with transaction.atomic():
        num = sign_ins.end_all(found.pk)
        record(found, "ended all sign-ins of", {"sign-ins": num}, {"sign-ins": 0}, reason)
    return EndedSignIns(num=num)


def _shown(found: sign_ins.SignIn, key: str | None) -> SignIn:
    row = found.row
    return SignIn(found.id, row.browser, row.system, row.network, row.began_at, row.seen_at, found.is_of(key))


def _endable(request: HttpRequest, target_id: int) -> User:
    """The user whose sign-ins the operator may end. Raises ApiError."""
    operator = checked_operator(request, END, "Only operators with the permission to end sign-ins do so.")
    found = find_user(target_id)
    if operator.pk == found.pk:
        raise ApiError(403, "forbidden", "End your own sign-ins on the page Your account.")
    check_rank(operator, found)
    return found
