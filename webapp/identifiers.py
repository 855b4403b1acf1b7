"""Ids of our objects: a prefix for the kind, and 131 random bits. Knows nothing of models."""

from __future__ import annotations

import secrets
import string

_ALPHABET = string.digits + string.ascii_letters
_LENGTH = 22


def new_id(prefix: str) -> str:
    """Return an id, e.g. `req_` and 22 letters and digits."""
    return prefix + "_" + "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def new_request_id() -> str:
    return new_id("req")


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
