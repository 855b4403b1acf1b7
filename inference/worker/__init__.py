"""The inference worker: a Celery app whose tasks share one engine thread. `celery -A inference.worker worker`."""

from inference.worker.app import app

__all__ = ["app"]
