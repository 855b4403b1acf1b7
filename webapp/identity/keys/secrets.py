"""The text of a key's secret: makes it, and reads what a client sent. Knows nothing of the rows.

sg-4fJ0aZ9k 7Qm…              54 characters: `sg-`, then digits and letters of ASCII
└─ prefix ┘ └ 43 letters ┘    the prefix is shown; the rest alone has 256 random bits
"""

from __future__ import annotations

import re
import secrets
import string
from dataclasses import dataclass, field
from hashlib import sha256

_ALPHABET = string.digits + string.ascii_letters
_MARK = "sg-"
_NUM_SHOWN, _NUM_HIDDEN = 8, 43
_SECRET = re.compile(rf"({_MARK}[0-9A-Za-z]{{{_NUM_SHOWN}}})[0-9A-Za-z]{{{_NUM_HIDDEN}}}")


@dataclass(frozen=True)
class Secret:
    """A well-formed secret."""

    text: str = field(repr=False)
    prefix: str

    @property
    def digest(self) -> str:
        return sha256(self.text.encode()).hexdigest()


def make() -> Secret:
    """Return a new secret."""
    text = _MARK + "".join(secrets.choice(_ALPHABET) for _ in range(_NUM_SHOWN + _NUM_HIDDEN))
    return Secret(text, text[: len(_MARK) + _NUM_SHOWN])


def parse(text: str) -> Secret | None:
    """Return the secret that a client sent; None: no key ever looked like this."""
    found = _SECRET.fullmatch(text)
    return Secret(text, found[1]) if found else None
