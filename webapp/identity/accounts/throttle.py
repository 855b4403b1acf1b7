"""Limits wrong passwords per account and address, and password checks at once. Knows nothing of HTTP.

The limit is per account and address together. A stranger who guesses does not keep the owner out elsewhere.
"""

from __future__ import annotations

import math
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from webapp.identity.accounts.address import clients_of
from webapp.identity.accounts.models import FailedSignIn

_SALT = "webapp.accounts.throttle"
"""A fixed name, not a path. Another one would void the rows that a former release wrote."""
WINDOW = timedelta(minutes=10)
MAX_FAILURES = 10
"""Wrong passwords in the window for one account from one address."""
MAX_FAILURES_OF_ADDRESS = 100
"""The same for all accounts from one address. Many people may share an address."""
MAX_AT_ONCE = 4
"""Passwords that one process checks at once. A check takes half a second of a core, and one of its 16 threads."""
MAX_AT_ONCE_OF_ADDRESS = 2


class TooMany(Exception):
    """The sign-in has to wait."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__()
        self.retry_after_s = retry_after_s


class SignInThrottle:
    """The places for password checks of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = Counter[str]()

    @contextmanager
    def place(self, address: str) -> Iterator[None]:
        """Hold a place for one password check. Raises TooMany without waiting: a waiting request holds a thread."""
        address = clients_of(address)
        with self._lock:
            if self._taken.total() >= MAX_AT_ONCE or self._taken[address] >= MAX_AT_ONCE_OF_ADDRESS:
                raise TooMany(1)
            self._taken[address] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[address] -= 1
                self._taken += Counter()  # drops the addresses without a check


def begin_attempt(name: str, address: str) -> FailedSignIn:
    """Count a failure before the password is checked, so that simultaneous guesses count. Raises TooMany."""
    now = timezone.now()
    FailedSignIn.objects.filter(at__lte=now - WINDOW).delete()
    network = clients_of(address)
    attempt = FailedSignIn.objects.create(
        account_and_address=_hidden(f"{_account(name)}\0{network}"), address=_hidden(network), at=now
    )
    earlier = FailedSignIn.objects.filter(pk__lt=attempt.pk)
    waits = (
        _wait_s(earlier.filter(account_and_address=attempt.account_and_address), MAX_FAILURES, now),
        _wait_s(earlier.filter(address=attempt.address), MAX_FAILURES_OF_ADDRESS, now),
    )
    if max(waits):
        attempt.delete()
        raise TooMany(max(waits))
    return attempt


def forgive(attempt: FailedSignIn) -> None:
    """The password was right: forget this attempt and the failures before it."""
    FailedSignIn.objects.filter(account_and_address=attempt.account_and_address).delete()


def _wait_s(failures: QuerySet[FailedSignIn], most: int, now: datetime) -> int:
    """Seconds until fewer failures than `most` are in the window."""
    decisive = failures.order_by("-pk").values_list("at", flat=True)[most - 1 : most]
    return max((math.ceil((at + WINDOW - now).total_seconds()) for at in decisive), default=0)


def _account(name: str) -> str:
    """The name as sign-in compares it: other spellings of one account are one account."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _hidden(text: str) -> str:
    return salted_hmac(_SALT, text, algorithm="sha256").hexdigest()
