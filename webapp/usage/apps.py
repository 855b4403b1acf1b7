from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class UsageConfig(AppConfig):
    name = "webapp.usage"
    label = "usage"

    def ready(self) -> None:
        post_migrate.connect(_count_earlier_records, sender=self)


def _count_earlier_records(**_: Any) -> None:
    """Count the records that a migration wrote."""
    from webapp.usage.roll_up import recount_if_never_counted

    recount_if_never_counted()
