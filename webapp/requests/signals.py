"""The signal that a request has ended. Knows nothing of its receivers."""

from __future__ import annotations

from django.dispatch import Signal

settled = Signal()
"""Sent with `request` when its end, its bill and its trace are in the database."""
