"""The length of a prompt, for a client that asks before it sends. It leaves no request and no bill.

Knows nothing of a family's forms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from webapp.ground.gateway.errors import ApiError
from webapp.lifecycle.prompt_packing import num_prompt_tokens
from webapp.lifecycle.without_request import admitted_question
from webapp.models.registry.offered import chosen
from webapp.requests.input import Messages
from webapp.requests.models import Request

MOST_OF_ONE = 4 << 20
"""Characters that one process counts at once for one user: some 2 seconds of a core. More are refused."""
_MOST_OF_ALL = 4 * MOST_OF_ONE


class Counting:
    """The characters that a process counts now, by user. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._chars: Counter[int] = Counter()

    @contextmanager
    def room(self, user_id: int, num_chars: int) -> Iterator[None]:
        """Hold room for so many characters. Raises ApiError."""
        with self._lock:
            if self._chars[user_id] + num_chars > MOST_OF_ONE or self._chars.total() + num_chars > _MOST_OF_ALL:
                message = "Too many prompts are being counted. Try again in a second."
                raise ApiError(429, "too_many_requests", message, retry_after_s=1)
            self._chars[user_id] += num_chars
        try:
            yield
        finally:
            with self._lock:
                self._chars[user_id] -= num_chars
                self._chars += Counter()  # forgets users without any


@cache
def counting() -> Counting:
    """That of this process."""
    return Counting()


def count_prompt(call: Request, messages: Messages, may_think: bool = True) -> int:
    """Return the number of tokens of the prompt. Counts against the requests a minute. call: is not saved.

    Raises ApiError, CannotPrepare, Refused, RedisError, UnknownModel.
    """
    call.model = chosen(call.model)
    with counting().room(call.user_id, sum(len(each.content) for each in messages)), admitted_question(call):
        return num_prompt_tokens(call.model, messages, may_think)
