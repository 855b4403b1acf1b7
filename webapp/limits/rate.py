"""A rate per minute as a bucket that fills evenly: the generic cell rate algorithm. Pure: integers in, integers out.

A user who has been idle may send a whole minute's requests at once; then one more with each part of the minute.
"""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_US = 60_000_000


@dataclass(frozen=True)
class Bucket:
    """The bucket of one user at one moment. Times are µs of Unix time."""

    per_minute: int
    full_at: int
    """Moment at which it is full again."""
    now: int

    @property
    def interval_us(self) -> int:
        """Time in which one request comes back; rounded up, so that no minute has one too many."""
        return -(-MINUTE_US // self.per_minute)

    @property
    def remaining(self) -> int:
        """Requests that it holds."""
        missing_us = max(0, self.full_at - self.now)
        return max(0, self.per_minute - -(-missing_us // self.interval_us))

    def after(self, num: int) -> Bucket:
        """The bucket after so many requests were taken."""
        return Bucket(self.per_minute, max(self.full_at, self.now) + num * self.interval_us, self.now)

    def at_rate(self, per_minute: int) -> Bucket:
        """The bucket after a change of the rate: as many requests are missing as before, at most all that it holds."""
        other = Bucket(per_minute, 0, self.now)
        missing_us = max(0, self.full_at - self.now)
        kept_us = -(-missing_us * other.interval_us // self.interval_us)
        return Bucket(per_minute, self.now + min(kept_us, per_minute * other.interval_us), self.now)

    def wait_us(self, num: int) -> int:
        """Time until it holds so many; num is at most `per_minute`."""
        return max(0, self.full_at - self.now - (self.per_minute - num) * self.interval_us)
