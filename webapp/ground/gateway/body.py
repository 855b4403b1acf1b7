"""Reads and validates bodies, queries, forms and uploaded files. Knows nothing of their purpose."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, TypeVar

import msgspec
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, QueryDict
from django.http.multipartparser import MultiPartParserError

from inference.protocol.events import ClientTiming, ServerInterval
from inference.protocol.request import MAX_MESSAGE_BYTES
from webapp.ground.gateway.choices import choices_at
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.json_faults import fault_in, has_repeated_name, repeated_name

if TYPE_CHECKING:
    Upload = UploadedFile[bytes]
else:
    Upload = UploadedFile  # which takes no parameter at run time

Input = TypeVar("Input", bound=msgspec.Struct)

MAX_BODY_BYTES = 2 << 20
_MAX_SAFE_INTEGER = 2**53 - 1
"""The largest whole number that JavaScript holds exactly."""
_MAX_PROTOCOL_CHARS = 32
_MAX_INTERVALS = 16
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}")
"""An interval's name: a token of RFC 9110, 5.6.2; the length limit is ours."""
_HALF_PAIR = re.compile(rb"(?i)\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f]")
_INVISIBLE = {"Zs", "Zl", "Zp", "Cc", "Cf"}
"""Unicode categories of invisible characters: spaces, controls, zero-width characters."""


_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_WRONG_TYPE = re.compile(r"Expected `(.*)`, got `(.*)`")
_NO_CHOICE = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)
_IN_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_GIVEN = _IN_WORDS | {"float": "a fraction"}
_FLAGS = {"true": True, "false": False}
_ADVICE = {
    "params.json_schema": " Send the schema as JSON within a text.",
    "params.logit_bias": ' Its entries look like {"id": 28, "bias": -5}.',
    "params.banned_token_ids": " It holds ids of tokens, such as [28, 29].",
}


def read_body(request: HttpRequest, kind: type[Input], most_bytes: int = MAX_BODY_BYTES) -> Input:
    """Return the body as a struct. Raises ApiError."""
    try:
        data = request.body
    except RequestDataTooBig:
        data = b" " * (most_bytes + 1)
    return decode_body(data, kind, most_bytes)


def decode_body(data: bytes, kind: type[Input], most_bytes: int = MAX_BODY_BYTES) -> Input:
    """Return a body that was sent, or that is a line of a file, as a struct. Raises ApiError."""
    if len(data) > most_bytes:
        raise ApiError(413, "too_large", f"The request has more than {most_bytes >> 20} MiB. Shorten the message.")
    try:
        body = msgspec.json.decode(data or b"{}", type=kind)
        is_ambiguous = len(data) <= MAX_BODY_BYTES and has_repeated_name(data)
    except msgspec.ValidationError as error:
        raise ApiError(400, "invalid", *in_words(error, kind=kind)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(400, "invalid_json", _broken(data, error)) from None
    except RecursionError:
        raise ApiError(400, "invalid_json", "The body is nested too deeply.") from None
    if is_ambiguous:
        message = f"The body is ambiguous JSON: {repeated_name(data)}. Send each name once."
        raise ApiError(400, "invalid_json", message)
    return body


def _broken(data: bytes, error: msgspec.DecodeError | UnicodeDecodeError) -> str:
    """Return why the bytes are no JSON."""
    try:
        text = data.decode()
    except UnicodeDecodeError as wrong:
        return f"The body is not UTF-8 text: byte {wrong.start:,} is wrong. Send valid Unicode."
    if _HALF_PAIR.search(data):
        return "The body is not valid JSON: it has \\u escapes of half a surrogate pair. Send valid Unicode."
    return f"The body is not valid JSON: {fault_in(text) or str(error).lower()}. Send an object in braces."


def read_query(request: HttpRequest, kind: type[Input]) -> Input:
    """Return the address's query as a struct; an empty text counts as absent. Raises ApiError."""
    return _converted(request.GET, kind)


def read_form(request: HttpRequest, kind: type[Input]) -> Input:
    """Return the posted form's fields as a struct. Raises ApiError."""
    return _converted(request.POST, kind)


def _converted(fields: QueryDict, kind: type[Input]) -> Input:
    texts = {name: str(text) for name, text in fields.items() if text}
    flags = [
        each.encode_name for each in msgspec.structs.fields(kind) if each.type is bool and each.encode_name in texts
    ]
    try:
        # msgspec would take other texts for a flag too, such as "1".
        return msgspec.convert(texts | {name: _FLAGS.get(texts[name]) for name in flags}, kind, strict=False)
    except msgspec.ValidationError as error:
        message, field = in_words(error, kind=kind)
        if field in flags:
            message = f"{field} must be true or false, not {texts[field]!r}."
        raise ApiError(400, "invalid", message, field) from None


def read_file(request: HttpRequest) -> Upload:
    """Return the upload of a multipart body's field `file`. Raises ApiError."""
    try:
        file = request.FILES.get("file")
    except (RequestDataTooBig, MultiPartParserError):
        file = None
    if not isinstance(file, UploadedFile):
        raise ApiError(400, "invalid", "Send the file as multipart form data, in a field named file.", "file")
    return file


def in_words(
    error: msgspec.ValidationError, whole: str = "The body", kind: type[msgspec.Struct] | None = None
) -> tuple[str, str | None]:
    """Return a message for the user, and the field. msgspec ends its messages with the path: "- at `$.params.n`".

    whole: the name of the path's root. kind: the type of the whole, whose few allowed values the message then lists.
    """
    message, _, path = str(error).partition(" - at `$")
    path = path.rstrip("`").lstrip(".")
    place = path.removeprefix("params.") or whole
    if found := _UNKNOWN.fullmatch(message):
        name = f"{path}.{found[1]}".lstrip(".")
        return f"There is no field {name}. Remove it or check its spelling.", name
    if found := _MISSING.fullmatch(message):
        name = f"{path}.{found[1]}".lstrip(".")
        return f"{name} is missing.", name
    if found := _WRONG_TYPE.fullmatch(message):
        wanted = " or ".join(_IN_WORDS.get(kind, kind) for kind in found[1].split(" | "))
        advice = _ADVICE.get(path.partition("[")[0], "")
        return f"{place} must be {wanted}, not {_GIVEN.get(found[2], found[2])}.{advice}", path or None
    if (found := _NO_CHOICE.fullmatch(message)) and kind and (choices := choices_at(kind, path)):
        *others, last = choices
        return f"{place} must be {', '.join(others)}{' or ' if others else ''}{last}, not {found[1]}.", path
    return f"{place}: {message}.", path or None


def checked_text(text: str, subject: str = "message", field: str = "text") -> str:
    """Check the text of a message, or of another subject in another field, and return it. Raises ApiError."""
    if all(unicodedata.category(char) in _INVISIBLE for char in text):
        raise ApiError(400, "empty", f"The {subject} is empty. Write something first.", field)
    if "\x00" in text:
        message = f"The {subject} has a NUL, which is invisible, as character {text.index(chr(0)) + 1:,}; remove it."
        raise ApiError(400, "invalid_text", message, field)
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        message = f"The {subject} has half a surrogate pair at character {error.start}. Send valid Unicode."
        raise ApiError(400, "invalid_text", message, field) from None
    if size > MAX_MESSAGE_BYTES:
        message = f"The {subject} has {size:,} bytes; the limit is {MAX_MESSAGE_BYTES:,}. Shorten it."
        raise ApiError(413, "too_large", message, field)
    return text


def checked_timing(client: ClientTiming | None) -> ClientTiming | None:
    """Check the browser's timing before it is kept with the request, and return it. Raises ApiError."""
    for name, value in msgspec.structs.asdict(client).items() if client is not None else ():
        if isinstance(value, int) and abs(value) > _MAX_SAFE_INTEGER:
            raise ApiError(400, "invalid", f"{name} is not a time in µs.", f"client.{name}")
        if isinstance(value, str) and not (value.isprintable() and len(value) <= _MAX_PROTOCOL_CHARS):
            raise ApiError(400, "invalid", f"{name} is not the name of a protocol.", f"client.{name}")
    if client is not None and client.server_timing is not None:
        _check_intervals(client.server_timing)
    return client


def _check_intervals(intervals: tuple[ServerInterval, ...]) -> None:
    if len(intervals) > _MAX_INTERVALS:
        message = f"server_timing has {len(intervals)} intervals; the limit is {_MAX_INTERVALS}."
        raise ApiError(400, "invalid", message, "client.server_timing")
    for interval in intervals:
        if not _TOKEN.fullmatch(interval.name) or not 0 <= (interval.duration_us or 0) <= _MAX_SAFE_INTEGER:
            message = "server_timing is not a valid Server-Timing header."
            raise ApiError(400, "invalid", message, "client.server_timing")
