"""Keeps the row of the model that the environment names. Knows nothing of workers."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from webapp.environment import Environment
from webapp.ground.audit.log import unrecorded
from webapp.models.registry.models import RegisteredModel
from webapp.models.registry.source_checks import url_problem

State, Kind = RegisteredModel.State, RegisteredModel.Kind


def on_migrated(**_: Any) -> None:
    """Receiver of `post_migrate`: every start of the product migrates the database."""
    if RegisteredModel._meta.db_table in connection.introspection.table_names():
        take_over(settings.ENVIRONMENT)


@transaction.atomic
def take_over(environment: Environment) -> None:
    """Write the environment's model into its row, and let checks that were interrupted begin again.

    The model that was configured before is retired, unless it is the same. An operator's draining stays.
    """
    with unrecorded():
        rows = RegisteredModel.objects.select_for_update()
        former = rows.filter(is_configured=True).exclude(pk=environment.model_name)
        former.update(is_configured=False, is_default=False, state=State.RETIRED)
        rows.filter(is_default=True).exclude(state=State.ENABLED).update(is_default=False)
        row = rows.filter(pk=environment.model_name).first() or RegisteredModel(pk=environment.model_name)
        _fill(row, environment)
        if not rows.filter(is_default=True).exclude(pk=row.pk).exists():
            row.is_default, row.state = True, State.ENABLED
        row.save()
        rows.filter(state=State.CHECKING).update(check_request_id="", check_begun_at=timezone.now())


def _fill(row: RegisteredModel, environment: Environment) -> None:
    path = environment.model_path.absolute()
    url = environment.backend_url or ""
    row.path, row.key = str(path), ""  # its workers read the key from the environment
    row.url = "" if url_problem(url) else url
    row.kind = Kind.REMOTE if url else Kind.SAFETENSORS if path.is_dir() else Kind.GGUF
    row.has_vision = row.has_vision and row.kind == Kind.REMOTE
    row.is_configured, row.num_workers, row.message = True, environment.num_workers, ""
    row.state = State.DRAINED if row.state == State.DRAINED else State.ENABLED
