"""Ids of our objects: a prefix for the kind, and 131 random bits. Knows nothing of models."""

from __future__ import annotations

import hashlib
import secrets
import string

_ALPHABET = string.digits + string.ascii_letters
_LENGTH = 22


def new_id(prefix: str) -> str:
    """Return an id, e.g. `req_` and 22 letters and digits."""
    return prefix + "_" + "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def new_request_id() -> str:
    return new_id("req")


def derived_request_id(*parts: str) -> str:
    """Return the id of the request that these parts stand for: the same parts give the same id.

    It tells nothing of the parts, of which at least one is an id of ours.
    """
    number = int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest())
    return "req_" + "".join(_ALPHABET[number // len(_ALPHABET) ** at % len(_ALPHABET)] for at in range(_LENGTH))


def new_conversation_id() -> str:
    return new_id("conv")


def new_rerun_id() -> str:
    return new_id("rerun")


def new_message_id() -> str:
    return new_id("msg")


def new_memory_id() -> str:
    return new_id("mem")


def new_summary_id() -> str:
    return new_id("summ")


def new_file_id() -> str:
    return new_id("file")


def new_attachment_id() -> str:
    return new_id("att")
