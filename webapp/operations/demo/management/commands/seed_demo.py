"""`manage.py seed_demo`: fills two months of usage with demonstration data, or removes it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from webapp.operations.demo.seed import remove, seed


class Command(BaseCommand):
    help = "Write two months of usage by invented users, marked as demonstration data; --remove removes it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--remove", action="store_true", help="Remove the demonstration data.")
        parser.add_argument("--days", type=int, default=60, choices=range(15, 366), metavar="15..365")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["remove"]:
            self.stdout.write(f"Removed {remove():,} records of demonstration data.")
            return
        found = seed(timezone.now(), options["days"])
        told = f"{found.num_records:,} records of demonstration data, {found.num_traces:,} of them with a trace"
        self.stdout.write(f"Wrote {told}. `manage.py seed_demo --remove` removes them.")
