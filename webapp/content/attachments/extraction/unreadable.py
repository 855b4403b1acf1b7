"""The refusal of a file, in words for its user."""

from __future__ import annotations


class Unreadable(Exception):
    """The file's text cannot be had; the exception's text says why."""
