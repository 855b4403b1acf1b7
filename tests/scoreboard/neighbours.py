"""A user's time to the first token beside what others do: many requests of one user, and wrong passwords.

Alone and beside take turns, so that the machine's moods hit both. Knows nothing of why a neighbour slows a user.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import httpx

from tests.faults.conftest import Processes, until
from tests.scoreboard.fleet import fleet
from tests.scoreboard.row import Measured, Setting, judged, percentile
from tests.scoreboard.visitors import MOST_S, Visitor, request_of, visitors

_TEXT = "Tell me of the river."
_TOKENS = 4
_NUM_NOISY, _NOISY_TOKENS = 100, 1500
_MOST_NOISY = 2.0
_PER_SECOND = 50
_MOST_SIGN_IN = 1.25
_NUM_ROUNDS = 2
_LOGIN = "/accounts/login/"
_FORM = {"csrfmiddlewaretoken": "t" * 32, "username": "visitor-0"}


def run(setting: Setting) -> list[Measured]:
    with fleet(setting.folder / "neighbours", 1) as found:
        other, *_ = visitors(found.site, 1)
        noisy, *_ = visitors(found.site, 1, "noisy", max_open=_NUM_NOISY)
        other.first_token_s(_TEXT, max_tokens=_TOKENS)
        return [_noisy(noisy, other), _sign_in(found.site, other)]


Beside = Callable[[], AbstractContextManager[object]]


def _by_turns(user: Visitor, num_tries: int, beside: Beside) -> tuple[list[float], list[float]]:
    """The user's times alone, and beside what the context does."""
    alone, together = [], []
    for _ in range(_NUM_ROUNDS):
        alone += _tries(user, num_tries)
        with beside():
            together += _tries(user, num_tries)
    return alone, together


def _tries(user: Visitor, num: int) -> list[float]:
    return [user.first_token_s(_TEXT, max_tokens=_TOKENS) for _ in range(num)]


def _noisy(noisy: Visitor, other: Visitor) -> Measured:
    alone, together = _by_turns(other, 10, lambda: _requests_of(noisy))
    before, after = statistics.median(alone), statistics.median(together)
    figure = (
        f"median {_ms(before)} alone, {_ms(after)} beside {_NUM_NOISY} open requests of one user: "
        f"{after / before:.1f} times; worst {max(together):.1f} s of {len(together)}"
    )
    problems = [] if after <= _MOST_NOISY * before else [f"{after / before:.1f} times"]
    return judged("noisy", figure, problems + ([f"none within {MOST_S:.0f} s"] if max(together) >= MOST_S else []))


@contextmanager
def _requests_of(noisy: Visitor) -> Iterator[None]:
    """So many open requests of one user, all within the block."""
    begun = [request_of(noisy.send(noisy.client, _TEXT, max_tokens=_NOISY_TOKENS)) for _ in range(_NUM_NOISY)]
    try:
        yield
        assert noisy.is_open(begun[-1]), "the noisy user's requests ended too early"
    finally:
        for request_id in reversed(begun):
            noisy.cancel(request_id)
        until(lambda: not any(map(noisy.is_open, begun)), 120)


def _sign_in(site: Processes, user: Visitor) -> Measured:
    statuses: list[int] = []
    alone, together = _by_turns(user, 40, lambda: _wrong_passwords(site, statuses))
    before, after = percentile(alone, 0.95), percentile(together, 0.95)
    figure = (
        f"p95 {_ms(before)} alone, {_ms(after)} beside: {after / before:.2f} times ({len(together)} tries, "
        f"{len(statuses)} wrong passwords, {statuses.count(200)} of them checked)"
    )
    problems = [] if after <= _MOST_SIGN_IN * before else [f"{after / before:.2f} times"]
    return judged("sign-in", figure, problems)


@contextmanager
def _wrong_passwords(site: Processes, statuses: list[int]) -> Iterator[None]:
    """So many a second, from many addresses of this machine: of one address, most are refused unchecked."""
    is_over = threading.Event()
    threads = [threading.Thread(target=_guess, args=(site, n, is_over, statuses)) for n in range(_PER_SECOND)]
    num_before = len(statuses)
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(statuses) >= num_before + _PER_SECOND, 30)
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join(60)


def _guess(site: Processes, number: int, is_over: threading.Event, statuses: list[int]) -> None:
    """One wrong password a second."""
    transport = httpx.HTTPTransport(local_address=f"127.0.0.{number + 2}", verify=False)
    cookies = {"csrftoken": _FORM["csrfmiddlewaretoken"]}
    with httpx.Client(base_url=site.client.base_url, transport=transport, cookies=cookies, timeout=60) as client:
        at = time.monotonic() + number / _PER_SECOND
        while not is_over.wait(max(0.0, at - time.monotonic())):
            at += 1.0
            answer = client.post(_LOGIN, data=_FORM | {"password": f"wrong {at}"})
            statuses.append(answer.status_code)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"
