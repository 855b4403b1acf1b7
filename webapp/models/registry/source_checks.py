"""Checks of an id, of a model's files and of a server's address, before a row is saved. Starts no worker."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inference.protocol.url import BadUrl, parse_url
from inference.tokenization.chat_template import ChatTemplate
from inference.tokenization.gguf_metadata import TokenizerError, read_metadata
from inference.tokenization.template_process import TemplateError
from inference.tokenization.tokenizer import Tokenizer
from webapp.models.registry.models import MAX_WORKERS, RegisteredModel

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_VISIBLE = re.compile(r"[!-~]{0,500}")
_MAX_PATH = 1000
Kind = RegisteredModel.Kind


class BadField(Exception):
    """A field cannot be used; the message says why and what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class BadFields(Exception):
    """Some fields cannot be used."""

    def __init__(self, problems: list[BadField]) -> None:
        super().__init__(str(problems[0]))
        self.problems = problems


@dataclass(frozen=True)
class Place:
    """Where a model is: its files and, of a remote one, its server."""

    kind: str
    path: str
    url: str = ""
    key: str = ""

    def check(self) -> None:
        """Raises BadFields."""
        check_all(lambda: _check_server(self), lambda: _check_files(self.kind, self.path))


def check_all(*checks: Callable[[], None]) -> None:
    """Run all checks, so that an operator can mend all fields at once. Raises BadFields."""
    problems: list[BadField] = []
    for check in checks:
        try:
            check()
        except BadField as bad:
            problems.append(bad)
        except BadFields as bad:
            problems += bad.problems
    if problems:
        raise BadFields(problems)


def check_id(given: str) -> None:
    """Raises BadField."""
    if not _ID.fullmatch(given):
        form = "1 to 100 of the characters a-z, 0-9, '.', '_' and '-', the first a letter or a digit"
        raise BadField("id", f"An id has {form}.")


def check_num_workers(given: int) -> None:
    """Raises BadField."""
    if not 1 <= given <= MAX_WORKERS:
        raise BadField("num_workers", f"num_workers must be 1 to {MAX_WORKERS}.")


def check_vision(kind: str, has_vision: bool) -> None:
    """Raises BadField."""
    if has_vision and kind != Kind.REMOTE:
        raise BadField("has_vision", "Only a remote model can have vision: the engine here reads no pictures.")


def url_problem(url: str) -> str | None:
    """What is wrong with a server's address; None: nothing. The address is not quoted: a key may be in it."""
    try:
        parts = parse_url(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.host) and parts.port != 0
    except BadUrl:
        is_good = False
    if not is_good or not _VISIBLE.fullmatch(url):
        return "A server's address has the form http://host:port."
    if "@" in url or "?" in url or "#" in url:
        return "A server's address has no name, no password and no query. Give its key as key."
    return None


def _check_server(place: Place) -> None:
    if place.kind != Kind.REMOTE:
        if place.url or place.key:
            raise BadField("url" if place.url else "key", "Only a remote model has a server. Leave url and key out.")
        return
    if problem := url_problem(place.url):
        raise BadField("url", problem)
    if not _VISIBLE.fullmatch(place.key):
        raise BadField("key", "A key has at most 500 characters, all of them visible ASCII.")


def _check_files(kind: str, given: str) -> None:
    path = Path(given)
    if len(given) > _MAX_PATH or not given.isprintable() or not path.is_absolute() or ".." in path.parts:
        raise BadField("path", f"Give the whole path from / on, without '..', in at most {_MAX_PATH} characters.")
    if problem := _problem_of(kind, path):
        raise BadField("path", problem)
    try:
        metadata = read_metadata(path)
        ChatTemplate(metadata, Tokenizer(metadata))
    except (TokenizerError, TemplateError) as error:
        raise BadField("path", f"The model's files cannot be used: {error}.") from None
    except OSError as error:
        raise BadField("path", f"{path} cannot be read: {error.strerror}.") from None


def _problem_of(kind: str, path: Path) -> str | None:
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
        has_weights = is_folder and any(path.glob("*.safetensors"))
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}."
    if not is_file and not is_folder:
        return f"There is no file and no folder {path} on the site's machine."
    if kind == Kind.GGUF and not is_file:
        return f"{path} is a folder. Name the GGUF file in it, or choose safetensors."
    if kind == Kind.SAFETENSORS and not is_folder:
        return f"{path} is a file. Name the folder that has it, or choose gguf."
    if kind == Kind.SAFETENSORS and not has_weights:
        return f"The folder {path} has no file *.safetensors. Choose another folder."
    return None
