"""Finds the conversations in other systems' files. Bytes in, drafts out; files are untrusted."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from webapp.ground.gateway.body import in_words
from webapp.surfaces.chat.exports import FORMAT
from webapp.surfaces.chat.imports import chatgpt, claude, openwebui, sightglass
from webapp.surfaces.chat.imports.tree import Draft, ImportProblem

MAX_BYTES = 32 << 20
"""Size of the uploaded file."""
_MAX_FILES = 100
_MAX_CONVERSATION_BYTES = 16 << 20
_MAX_TITLE_CHARS = 60
_ZIP = b"PK"
_NAME = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_WRONG = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)
"""Exceptions that zipfile may raise for an untrusted file."""
_NEXT = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+"?)*+([\[\]{}])', re.DOTALL)
"""Match up to the next bracket outside strings; an unterminated string extends to the file's end."""


@dataclass(frozen=True)
class FileLimits:
    """Limits on one file's content."""

    max_unpacked_bytes: int = 128 << 20
    """Size of a zip file's unpacked conversations."""
    max_conversations: int = 5_000
    max_brackets: int = 5_000_000
    """Outside strings, in all lists of a file: 2.5 s of scanning. An export of 128 MiB has about 3.5 million."""


_LIMITS = FileLimits()


class ImportFileError(Exception):
    """Nothing of a file is imported; the message gives the reason in one sentence."""


@dataclass(frozen=True)
class Item:
    """One conversation of a file: its draft, or the problem that prevents one."""

    place: str
    """Place in the file, e.g. `conversations.json, conversation 4`."""
    title: str
    source: str
    """Name of the system that it comes from."""
    draft: Draft | None
    problem: str = ""


class _Outline(msgspec.Struct):
    """The fields of a conversation that identify its system."""

    title: Any = None
    name: Any = None
    format: Any = None
    mapping: msgspec.Raw = msgspec.Raw(b"")
    chat_messages: msgspec.Raw = msgspec.Raw(b"")
    chat: msgspec.Raw = msgspec.Raw(b"")
    history: msgspec.Raw = msgspec.Raw(b"")


@dataclass(frozen=True)
class _Kind:
    source: str
    read: Callable[[bytes], Draft]


def read_file(name: str, data: bytes, limits: FileLimits = _LIMITS) -> Iterator[Item]:
    """Yield all conversations of a JSON file, or of a zip file's JSON files. Raises ImportFileError."""
    num_found, brackets = 0, _Brackets(limits.max_brackets)
    for file, content in _files(name, data, limits.max_unpacked_bytes):
        for number, piece in enumerate(_conversations(file, content, brackets), 1):
            num_found += 1
            if num_found > limits.max_conversations:
                raise ImportFileError(f"{file} has more than {limits.max_conversations:,} conversations. Split it.")
            yield _read(f"{file}, conversation {number}", piece)
    if not num_found:
        raise ImportFileError(f"{name} has no conversations.")


def _files(name: str, data: bytes, max_bytes: int) -> Iterator[tuple[str, bytes]]:
    if not data.startswith(_ZIP):
        yield name, data
        return
    try:
        packed = zipfile.ZipFile(io.BytesIO(data))
        found = [info for info in packed.infolist() if _NAME.fullmatch(info.filename)]
        if not found:
            raise ImportFileError(f"{name} has no conversations.json. Send the zip file as you got it, or that file.")
        if len(found) > _MAX_FILES:
            raise ImportFileError(f"{name} has {len(found):,} files of conversations; the limit is {_MAX_FILES}.")
        num_left = max_bytes
        for info in found:
            content = _unpacked(packed, info, num_left)
            if content is None:
                raise ImportFileError(f"{info.filename} unpacks to more than {max_bytes >> 20} MiB, the limit.")
            num_left -= len(content)
            yield info.filename, content
    except _WRONG as error:
        raise ImportFileError(f"{name} is truncated or damaged: {error}.") from error


def _unpacked(packed: zipfile.ZipFile, info: zipfile.ZipInfo, num_left: int) -> bytes | None:
    """Return the content; None if it has more than num_left bytes, whatever size the file claims.

    Raises ImportFileError and as zipfile.
    """
    if info.compress_type not in _PACKINGS:
        raise ImportFileError(f"{info.filename} uses a compression that Sightglass cannot read: store or deflate it.")
    if info.file_size > num_left:
        return None
    with packed.open(info) as member:
        content = member.read(num_left + 1)
    return content if len(content) <= num_left else None


class _Brackets:
    """Counts the brackets of all files together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._num = 0

    def count(self, file: str) -> None:
        """Count one more. Raises ImportFileError."""
        self._num += 1
        if self._num > self._limit:
            raise ImportFileError(f"{file} has more than {self._limit:,} brackets. Split it.")


def _conversations(file: str, data: bytes, brackets: _Brackets) -> Iterator[bytes]:
    """Yield the objects of a list, or the file's single object, as unparsed bytes."""
    data = data.removeprefix(b"\xef\xbb\xbf").strip()
    if data[:1] == b"{":
        yield data
    elif data[:1] == b"[" and data[-1:] == b"]":
        yield from _objects(file, data, brackets)
    else:
        raise ImportFileError(f"{file} is not a JSON file of conversations: it is neither a list nor an object.")


def _objects(file: str, data: bytes, brackets: _Brackets) -> Iterator[bytes]:
    """Yield the objects of a list."""
    depth, start, end, at = 0, 0, 1, 0
    while (found := _NEXT.match(data, at)) is not None:
        at = found.end()
        brackets.count(file)
        if found[1] in b"{[":
            if depth == 1:
                start = at - 1
                _check_between(file, data[end:start])
            depth += 1
            continue
        depth -= 1
        if depth == 1:
            end = at
            yield data[start:end]
        elif depth == 0:
            _check_between(file, data[end : at - 1])
            if at < len(data):
                raise ImportFileError(f"{file} is not valid JSON: something follows its list.")
            return
    raise ImportFileError(f"{file} is truncated: its list does not end.")


def _check_between(file: str, gap: bytes) -> None:
    if gap.strip() not in (b"", b","):
        raise ImportFileError(f"{file} is not a list of conversations: it has {gap.strip()[:20]!r} between them.")


def _read(place: str, data: bytes) -> Item:
    """Read one conversation; its problem, if any, goes into the item, so that the others are still read."""
    title, kind = "", None
    try:
        if len(data) > _MAX_CONVERSATION_BYTES:
            raise ImportProblem(f"It has {len(data) >> 20} MiB; the limit is {_MAX_CONVERSATION_BYTES >> 20}.")
        outline = msgspec.json.decode(data, type=_Outline)
        title = _title(outline.title) or _title(outline.name)
        kind = _kind(outline)
        return Item(place, title, kind.source, kind.read(data))
    except ImportProblem as error:
        problem = str(error)
    except msgspec.ValidationError as error:
        problem = in_words(error, "It")[0]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = f"It is not valid JSON: {error}."
    except RecursionError:
        problem = "It is nested too deeply."
    return Item(place, title, kind.source if kind else "", None, problem)


def _title(title: object) -> str:
    return " ".join(title.split())[:_MAX_TITLE_CHARS] if isinstance(title, str) else ""


def _kind(outline: _Outline) -> _Kind:
    """Identify the system by the conversation's fields, not by the file's name. Raises ImportProblem."""
    if outline.format == FORMAT:
        return _Kind("Sightglass", sightglass.read)
    if bytes(outline.mapping):
        return _Kind("ChatGPT", chatgpt.read)
    if bytes(outline.chat_messages):
        return _Kind("Claude", claude.read)
    if bytes(outline.chat):
        return _Kind("Open WebUI", openwebui.read)
    if bytes(outline.history):
        return _Kind("Open WebUI", openwebui.read_chat)
    raise ImportProblem("It is not a conversation of ChatGPT, Claude, Open WebUI or Sightglass.")
