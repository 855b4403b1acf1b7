"""The Django site. Never imports torch."""

from webapp.celery import app as celery_app

__all__ = ["celery_app"]
