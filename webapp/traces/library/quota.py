"""The bytes that a user's saved traces take, and the quota for imports. Knows nothing of HTTP."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Sum
from django.db.models.functions import Length

from webapp.traces.models import Trace


class QuotaExceeded(Exception):
    """The import would take more than the user has left; the message says how much there is."""


@dataclass(frozen=True)
class Storage:
    """A user's saved traces, compressed as they are kept."""

    used_bytes: int
    limit_bytes: int

    def check(self, num_new: int) -> None:
        """Raises QuotaExceeded unless so many bytes more fit."""
        if self.used_bytes + num_new > self.limit_bytes:
            used, limit, new = map(_mib, (self.used_bytes, self.limit_bytes, num_new))
            raise QuotaExceeded(f"Your traces take {used} of {limit} MiB; this needs {new} MiB. Delete some traces.")


def storage_of(owner: int) -> Storage:
    """Add up the traces of the user's own answers and of imports. The database knows a length without the bytes."""
    traces = Trace.objects.filter(request__user_id=owner)
    used: int = traces.aggregate(used=Sum(Length("blob"), default=0))["used"]
    return Storage(used, settings.ENVIRONMENT.trace_quota_bytes)


def _mib(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 20):,.1f}"
