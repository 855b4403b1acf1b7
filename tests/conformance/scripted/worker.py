"""The Celery app of an inference worker whose model follows scripts: `celery -A tests.conformance.scripted.worker`.

All else is the product's own worker.
"""

from __future__ import annotations

from inference.worker import host
from inference.worker.app import app
from tests.conformance.scripted.decoder import load_scripted

__all__ = ["app"]

host.load_engine = load_scripted  # type: ignore[assignment]  # before the worker starts, which loads it
