"""`manage.py up`: the whole product on this machine, until Ctrl-C."""

from __future__ import annotations

import os
import shlex
import sys
import time
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from webapp.identity.accounts.links import LIFETIME
from webapp.operations.supervisor.checks import CannotStart, check_disk, check_port, check_worker_settings, lock
from webapp.operations.supervisor.database import migrate
from webapp.operations.supervisor.open_files import allow_open_files
from webapp.operations.supervisor.product import Product
from webapp.operations.supervisor.supervisor import Supervisor


class Command(BaseCommand):
    help = "Start Redis, the workers and the web server, and print the address to open."
    requires_system_checks: list[str] = []  # noqa: RUF012

    def handle(self, *args: Any, **options: Any) -> None:
        environment = settings.ENVIRONMENT
        start = time.monotonic()
        os.umask(0o077)  # logs and database are for this system's user alone; every child inherits it
        try:
            check_worker_settings()
            check_disk(environment.data)
            check_port(environment.host, environment.port)
            held = lock(environment.data, environment.public_url or environment.address)
            os.set_inheritable(held, False)
            migrate()
            allow_open_files()
            product = Product(environment)
            Supervisor(product, self._say).run(lambda: self._announce(product, start))
        except CannotStart as error:
            self.stdout.flush()
            sys.exit(f"sightglass: {error}")
        except KeyboardInterrupt:  # before anything was started
            sys.exit(0)

    def _announce(self, product: Product, start: float) -> None:
        self._say(f"ready in {time.monotonic() - start:.1f} s; stop with Ctrl-C; logs in {product.logs}")
        minutes = LIFETIME.seconds // 60
        self.stdout.write(f"\n  Open (this link signs you in, once, within {minutes} minutes):  ", ending="")
        call_command("signin_link", stdout=self.stdout)
        self.stdout.write(f"  Another link, at any time:  {_settings()}.venv/bin/python manage.py signin_link")
        self.stdout.flush()

    def _say(self, text: str) -> None:
        self.stdout.write(f"sightglass: {text}")
        self.stdout.flush()


def _settings() -> str:
    """The setting by which another command finds the data of this product, as a shell takes it."""
    data = os.environ.get("SIGHTGLASS_DATA")
    return f"SIGHTGLASS_DATA={shlex.quote(data)} " if data else ""
