"""Reads the file of a batch into its lines. Pure: text in, lines or faults out. Knows nothing of a body's fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from webapp.ground.gateway.body import in_words
from webapp.surfaces.batches.bounds import MAX_LINES
from webapp.surfaces.batches.models import MAX_CUSTOM_ID_CHARS

_MOST_FAULTS = 50
"""Faults of one file that are told."""
_MAX_MODEL_CHARS = 128
MESSAGES = "/v1/messages"
"""The address whose lines name none: they have `custom_id` and `params`."""


class Fault(msgspec.Struct):
    """One reason why a file cannot be used."""

    code: str
    message: str
    line: int | None = None
    """From 1; None: the fault is the whole file's."""
    param: str | None = None


class _Given(msgspec.Struct):
    """A line of the file. Further fields are accepted, without an effect."""

    custom_id: str
    method: str
    url: str
    body: msgspec.Raw


class _GivenMessage(msgspec.Struct):
    """The same for Messages, whose line names no address."""

    custom_id: str
    params: msgspec.Raw


class _Address(msgspec.Struct):
    url: str = ""
    params: msgspec.Raw = msgspec.Raw()


Line = TypeVar("Line", _Given, _GivenMessage)


class _Named(msgspec.Struct):
    model: str = ""


@dataclass(frozen=True)
class ReadLine:
    """A line that can be run."""

    custom_id: str
    model: str
    """Empty: the body names none, which its own parser refuses."""
    body: str
    number: int = 0
    """Its place in the file, from 1."""


@dataclass(frozen=True)
class ReadLines:
    """All lines of a file, or the faults for which none can be run."""

    lines: list[ReadLine]
    faults: list[Fault]


class _Faulty(Exception):
    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code, self.param = code, param


def endpoint_in(text: str) -> str:
    """The address of a file's first line, whose other lines must have the same. Empty: it has none."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    try:
        found = msgspec.json.decode(first, type=_Address)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""
    return found.url or (MESSAGES if bytes(found.params) else "")


def read_lines(text: str, endpoint: str) -> ReadLines:
    """Read a file of JSON Lines. Blank lines count in the numbers alone."""
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not numbered:
        return ReadLines([], [Fault("empty_file", "The file has no line.")])
    if len(numbered) > MAX_LINES:
        message = f"The file has {len(numbered):,} lines; a batch has {MAX_LINES:,} at most. Make several batches."
        return ReadLines([], [Fault("too_many_lines", message)])
    return _all(numbered, endpoint)


def _all(numbered: list[tuple[int, str]], endpoint: str) -> ReadLines:
    lines, faults, first = list[ReadLine](), list[Fault](), dict[str, int]()
    for number, text in numbered:
        try:
            line = _read(text, endpoint, number)
            before = first.setdefault(line.custom_id, number)
            if before != number:
                raise _Faulty("duplicate_custom_id", f"custom_id stands in line {before} too.", "custom_id")
            lines.append(line)
        except _Faulty as fault:
            faults.append(Fault(fault.code, str(fault), number, fault.param))
        if len(faults) == _MOST_FAULTS:
            break
    return ReadLines([] if faults else lines, faults)


def _read(text: str, endpoint: str, number: int) -> ReadLine:
    """Raises _Faulty."""
    if endpoint == MESSAGES:
        message = _decoded(text, _GivenMessage)
        return _line(message.custom_id, message.params, "params", number)
    given = _decoded(text, _Given)
    if given.method != "POST":
        raise _Faulty("invalid_method", "method must be POST.", "method")
    if given.url != endpoint:
        raise _Faulty("invalid_url", f"url must be {endpoint}, the endpoint of the batch.", "url")
    return _line(given.custom_id, given.body, "body", number)


def _line(custom_id: str, raw: msgspec.Raw, field: str, number: int) -> ReadLine:
    """Raises _Faulty."""
    _check_custom_id(custom_id)
    body = bytes(raw).decode()
    if not body.lstrip().startswith("{"):
        raise _Faulty("invalid_body", f"{field} must be an object.", field)
    return ReadLine(custom_id, model_in(body), body, number)


def _decoded(text: str, kind: type[Line]) -> Line:
    """Raises _Faulty."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise _Faulty("invalid_line", *in_words(error, "The line")) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _Faulty("invalid_json_line", f"The line is not valid JSON: {error}.") from None


def _check_custom_id(text: str) -> None:
    """Raises _Faulty."""
    if not 1 <= len(text) <= MAX_CUSTOM_ID_CHARS or "\x00" in text or not text.isprintable():
        message = f"custom_id must have 1 to {MAX_CUSTOM_ID_CHARS} printable characters."
        raise _Faulty("invalid_custom_id", message, "custom_id")


def model_in(body: str) -> str:
    """Return the model that a body names; empty: none that could exist."""
    try:
        model = msgspec.json.decode(body, type=_Named).model
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""
    return "" if "\x00" in model or len(model) > _MAX_MODEL_CHARS else model


def models_of(lines: list[ReadLine]) -> list[str]:
    """The models that the lines name, each once."""
    return list(dict.fromkeys(line.model for line in lines if line.model))
