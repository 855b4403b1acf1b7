"""The pictures of a call: read, bounded, and refused where the model has no vision.

Knows nothing of a family's forms.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from inference.protocol.events import Image
from webapp.content.attachments.extraction.unreadable import Unreadable
from webapp.content.attachments.pictures import MAX_IN_PROMPT, MAX_PROMPT_BYTES, TOO_MANY, Picture, read_picture
from webapp.ground.gateway.errors import ApiError
from webapp.models.registry.offered import has_vision, no_vision

_DATA = "data:"
_BASE64 = ";base64"
_JPEG = "image/jpeg"
_SCHEMES = ("http:", "https:", "ftp:", "file:")


class CallPictures:
    """Collects the pictures of one call."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._found: dict[str, Picture] = {}
        self._num = 0

    @property
    def found(self) -> tuple[Picture, ...]:
        """Each picture once."""
        return tuple(self._found.values())

    def at_address(self, given: object, place: str) -> Image:
        """Take a picture by its data URI. Raises ApiError."""
        self._check_vision(place)
        if not isinstance(given, str):
            raise _wrong(f"{place} needs a picture as a data URI: data:image/png;base64,…", place)
        if given[:8].lower().startswith(_SCHEMES):
            message = "No picture is fetched from an address here. Fetch it yourself, and send it as a data URI."
            raise _wrong(message, place)
        head, comma, data = given.partition(",")
        if not head.startswith(_DATA) or not comma or not head.endswith(_BASE64):
            raise _wrong(f"{place} is no data URI. Send data:image/png;base64, and the picture.", place)
        return self.take(head[len(_DATA) : -len(_BASE64)], data, place)

    def take(self, media_type: object, data: object, place: str) -> Image:
        """Take a picture in base64. Raises ApiError."""
        self._check_vision(place)
        picture = _read(data, place)
        media_type = _JPEG if media_type == "image/jpg" else media_type
        if media_type != picture.image.media_type:
            told = f"is said to be {str(media_type)[:40]!r}, and its bytes are {picture.image.media_type}"
            raise _wrong(f"{place} {told}. Send its true type.", place)
        self._num += 1
        self._found[picture.image.sha256] = picture
        num_bytes = sum(each.image.num_bytes for each in self.found)
        if self._num > MAX_IN_PROMPT or num_bytes > MAX_PROMPT_BYTES:
            raise _wrong(TOO_MANY, place)
        return picture.image

    def _check_vision(self, place: str) -> None:
        if not has_vision(self._model):
            raise ApiError(400, "unsupported", no_vision(self._model), place)


def check_countable(pictures: Sequence[Picture]) -> None:
    """Refuse to count a prompt with pictures. Raises ApiError."""
    if pictures:
        message = "Only the model's server knows the tokens of a picture. Count the texts without it."
        raise ApiError(400, "unsupported", message)


def _read(data: object, place: str) -> Picture:
    try:
        return read_picture(base64.b64decode(data if isinstance(data, str) else "", validate=True))
    except (binascii.Error, ValueError):
        raise _wrong(f"{place} is no valid base64.", place) from None
    except Unreadable as refused:
        raise _wrong(str(refused), place) from None


def _wrong(message: str, place: str) -> ApiError:
    return ApiError(400, "invalid", message, place)
