"""Names that operators give to models: the checks, the saving and the reading. Knows nothing of HTTP and of usage."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from django.db import IntegrityError, transaction

from webapp.models.billing.models import ModelName

MAX_NAME = 60
_MAX_MARKS = 3
"""Marks on one letter: scripts of South Asia need three. More pile up over other lines."""
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python calls printable and no font draws."""


class BadName(Exception):
    """The name cannot be shown, or names another model."""

    def __init__(self, message: str, is_conflict: bool = False) -> None:
        super().__init__(message)
        self.is_conflict = is_conflict
        """The name is right by itself, and another model has it."""


def model_names() -> dict[str, str]:
    """Return the name of each model that has one."""
    return dict(ModelName.objects.values_list("model", "name"))


def name_model(model: str, given: str, others: Iterable[str]) -> None:
    """Give the model a name; an empty one, or its own id, takes the name back. Raises BadName.

    others: ids of the other models, which are no name of this one.
    """
    name = _checked(given)
    if not name or name == model:
        with transaction.atomic():
            for row in ModelName.objects.filter(model=model):
                row.delete()
        return
    if taken := next((other for other in others if compared(other) == compared(name)), None):
        raise BadName(f"{taken} is the id of another model. Choose another name.", is_conflict=True)
    try:
        with transaction.atomic():
            row = ModelName.objects.select_for_update().filter(model=model).first() or ModelName(model=model)
            row.name, row.compared = name, compared(name)
            row.save()
    except IntegrityError:
        raise BadName(f"Another model is called {name}. Choose another name.", is_conflict=True) from None


def compared(name: str) -> str:
    """Return the same text for names that look alike: capitals, forms of a letter and spaces do not tell them apart."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).replace(" ", "")


def _checked(given: str) -> str:
    """Return the name in one line, composed. Raises BadName."""
    name = unicodedata.normalize("NFC", " ".join(part for part in given.split(" ") if part))
    if len(name) > MAX_NAME:
        raise BadName(f"A name has at most {MAX_NAME} characters, not {len(name)}. Shorten it.")
    if bad := next((char for char in name if not char.isprintable() or _INVISIBLE.match(char)), None):
        told = unicodedata.name(bad, "a control character").lower()
        raise BadName(f"The name has a character that is not seen: U+{ord(bad):04X}, {told}. Remove it.")
    marks = "".join("m" if unicodedata.category(char) == "Mn" else " " for char in name)
    if "m" * (_MAX_MARKS + 1) in marks:
        raise BadName(f"The name has more than {_MAX_MARKS} marks on one letter. Remove some.")
    if name and not any(char.isalnum() for char in name):
        raise BadName("The name has no letter and no digit. Write one that can be read.")
    return name
