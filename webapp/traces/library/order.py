"""The trace list's order, and the cursors between its pages.

An unknown figure comes last in either direction. Equal figures are ordered by time, newest first, and equal times by
id.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import F, Q, QuerySet

from webapp.requests.models import Request

TIME = "created_at"
SORTS = (TIME, "num_input_tokens", "num_output_tokens", "first_token_us", "first_text_us", "duration_us", "cost_nano")
_MAX_FIGURE = 2**63 - 1
_MOMENT = "%Y-%m-%dT%H:%M:%S.%f"


class CursorError(Exception):
    """The cursor does not belong to this order."""


@dataclass(frozen=True)
class Order:
    """An order by one field of a request; `-cost_nano` is the dearest first."""

    field: str = TIME
    is_descending: bool = True

    @classmethod
    def of(cls, text: str) -> Order:
        """Parse an order. Raises ValueError."""
        field = text.removeprefix("-")
        if field not in SORTS:
            raise ValueError(f"must be one of {', '.join(SORTS)}, with a minus before it for the largest first")
        return cls(field, text.startswith("-"))

    def apply(self, requests: QuerySet[Request]) -> QuerySet[Request]:
        if self.field == TIME:
            sign = "-" if self.is_descending else ""
            return requests.order_by(f"{sign}{TIME}", f"{sign}pk")
        figure = F(self.field)
        known = figure.desc(nulls_last=True) if self.is_descending else figure.asc(nulls_last=True)
        return requests.order_by(known, f"-{TIME}", "-pk")

    def cursor_of(self, request: Request) -> str:
        """The cursor that continues a list after this request; opaque to the browser."""
        place = f"{request.created_at.astimezone(UTC):{_MOMENT}}~{request.pk}"
        if self.field == TIME:
            return place
        figure = getattr(request, self.field)
        return f"{'' if figure is None else figure}~{place}"

    def after(self, requests: QuerySet[Request], cursor: str) -> QuerySet[Request]:
        """The requests after the cursor. Raises CursorError."""
        try:
            *figure, time, request_id = cursor.split("~")
            created_at = datetime.strptime(time, _MOMENT).replace(tzinfo=UTC)
            known = [int(each) if each else None for each in figure]
        except ValueError:
            raise CursorError(cursor) from None
        if len(known) != (self.field != TIME) or any(abs(each or 0) > _MAX_FIGURE for each in known):
            raise CursorError(cursor)
        is_descending = self.is_descending if self.field == TIME else True
        by_id = Q(**{f"pk__{_beyond(is_descending)}": request_id})
        by_time = Q(**{f"{TIME}__{_beyond(is_descending)}": created_at}) | Q(**{TIME: created_at}) & by_id
        if known:
            return requests.filter(self._by_figure(known[0], by_time))
        # The first condition follows from the second, but only it lets the database seek in the index.
        return requests.filter(**{f"{TIME}__{_beyond(is_descending)}e": created_at}).filter(by_time)

    def _by_figure(self, figure: int | None, by_time: Q) -> Q:
        unknown = Q(**{f"{self.field}__isnull": True})
        if figure is None:
            return unknown & by_time
        beyond = Q(**{f"{self.field}__{_beyond(self.is_descending)}": figure})
        return beyond | Q(**{self.field: figure}) & by_time | unknown


def _beyond(is_descending: bool) -> str:
    return "lt" if is_descending else "gt"
