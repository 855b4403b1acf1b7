"""The addresses of the Anthropic-compatible API, below `/v1/`."""

from __future__ import annotations

from typing import Any

urlpatterns: list[Any] = []
