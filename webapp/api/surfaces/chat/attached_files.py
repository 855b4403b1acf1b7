"""The files that a message or a draft names, as rows of its user."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.api.surfaces.chat.schema import Pin
from webapp.content.attachments.models import Attachment
from webapp.content.attachments.selection import Pins
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.surfaces.chat.attaching import MAX_FILES, NOTHING, Wanted

_MAX_PINS = 64


def wanted(user_id: int, ids: Sequence[str], pins: Sequence[Pin]) -> Wanted:
    """Return the files, in the order of their ids. Raises ApiError."""
    if not ids and not pins:
        return NOTHING
    ids = list(dict.fromkeys(ids))
    if len(ids) > MAX_FILES or len(pins) > _MAX_PINS:
        message = f"A message carries at most {MAX_FILES} files, with pins in {_MAX_PINS}."
        raise ApiError(400, "invalid", message, "attachments")
    found = Attachment.objects.filter(user_id=user_id).in_bulk(ids)
    if len(found) < len(ids):
        raise not_found("file")
    return Wanted(tuple(found[each] for each in ids), _pins(pins))


def _pins(pins: Sequence[Pin]) -> Pins:
    return Pins(
        passages={each.attachment_id: frozenset(each.passages) for each in pins},
        whole=frozenset(each.attachment_id for each in pins if each.is_whole),
    )
