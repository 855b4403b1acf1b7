"""Reads a whole file of JSON Lines for a new batch. Its first mistake is named before anything is saved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from inference.grammar.check import ChecksBusy
from webapp.ground.gateway.errors import ApiError
from webapp.identifiers import new_id
from webapp.identity.keys.models import ApiKey
from webapp.surfaces.batches.form import Form, forms
from webapp.surfaces.batches.models import Batch
from webapp.surfaces.batches.reading import MESSAGES, Fault, ReadLine, endpoint_in, read_lines

CHECKED_S = 8.0
"""Time in which bodies are read by the parser of their live call. Those after it are read when they begin."""


class Mistaken(Exception):
    """A line cannot be run."""

    def __init__(self, fault: Fault) -> None:
        place = "" if fault.line is None else f"Line {fault.line:,}: "
        super().__init__(place + fault.message)
        self.code = fault.code


@dataclass(frozen=True)
class Brought:
    """A batch that is not saved, and its lines."""

    batch: Batch
    lines: Sequence[ReadLine]
    num_checked: int
    """Lines whose bodies were read."""


def read_brought(text: str, user_id: int, key: ApiKey | None) -> Brought:
    """Read a file. Raises Mistaken."""
    endpoint = endpoint_in(text) or MESSAGES
    family = next((name for name, form in forms().items() if endpoint in form.endpoints), None)
    if family is None:
        raise Mistaken(_unknown_address(text))
    found = read_lines(text, endpoint)
    if found.faults:
        raise Mistaken(found.faults[0])
    form = forms()[family]
    batch = Batch(
        id=new_id(form.id_prefix),
        user_id=user_id,
        key=key,
        is_of_sign_in=key is None,
        family=family,
        endpoint=endpoint,
    )
    return Brought(batch, found.lines, _check_bodies(form, batch, found.lines))


def _unknown_address(text: str) -> Fault:
    """The fault of a first line that names an address to which no batch goes."""
    known = [each for form in forms().values() for each in form.endpoints if each != MESSAGES]
    number = next(number for number, line in enumerate(text.split("\n"), 1) if line.strip())
    return Fault("invalid_url", f"url must be one of: {', '.join(known)}.", number, "url")


def _check_bodies(form: Form, batch: Batch, lines: Sequence[ReadLine]) -> int:
    """Read bodies as their live calls would, as far as the time allows; return their number. Raises Mistaken."""
    deadline = time.monotonic() + CHECKED_S
    for place, line in enumerate(lines):
        if time.monotonic() > deadline:
            return place
        try:
            form.work(batch, line.body.encode(), batch.key)
        except ChecksBusy:
            return place
        except Exception as error:
            refusal = form.refusal(error)
            if refusal is None or refusal.status >= 500:
                raise
            raise Mistaken(_fault(refusal, line)) from None
    return len(lines)


def _fault(refusal: ApiError, line: ReadLine) -> Fault:
    return Fault(refusal.code, refusal.message, line.number, refusal.field)
