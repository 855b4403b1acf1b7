"""`manage.py recount`: rebuilds the sums of usage from the records. The product may run meanwhile."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from webapp.usage.roll_up import recount


class Command(BaseCommand):
    help = "Rebuild the hourly and daily sums of usage from the records of all requests."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Counted {recount()} days again.")
