"""The environment's model has a row from the first start on, and follows the environment at each start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.conf import settings

from tests.webapp.registered import CONFIGURED, registered
from webapp.models.registry.configured import take_over
from webapp.models.registry.models import RegisteredModel

pytestmark = pytest.mark.django_db
ENVIRONMENT = settings.ENVIRONMENT


def states() -> dict[str, tuple[str, bool, bool]]:
    return {row.pk: (row.state, row.is_default, row.is_configured) for row in RegisteredModel.objects.all()}


def start(**changes: Any) -> None:
    take_over(replace(ENVIRONMENT, **changes))


def test_another_name_retires_the_model_before_and_is_the_default() -> None:
    start(model_name="other")
    assert states() == {CONFIGURED: ("retired", False, False), "other": ("enabled", True, True)}
    start()
    assert states() == {CONFIGURED: ("enabled", True, True), "other": ("retired", False, False)}


def test_an_operators_default_and_drained_model_stay() -> None:
    RegisteredModel.objects.update(is_default=False, state="drained")
    registered("second", is_default=True)
    start(model_path=Path("/models/other.gguf"))
    assert states() == {CONFIGURED: ("drained", False, True), "second": ("enabled", True, False)}
    assert RegisteredModel.objects.get(pk=CONFIGURED).path == "/models/other.gguf"
    assert not LogEntry.objects.filter(content_type__model="registeredmodel", object_pk=CONFIGURED).exists()


@pytest.mark.parametrize("state", ["failed", "retired", "drained", "checking"])
def test_there_is_always_an_enabled_default(state: str) -> None:
    RegisteredModel.objects.update(is_default=False)
    registered("second", state=state, is_default=True)
    start()
    assert states()[CONFIGURED] == ("enabled", True, True)
    assert states()["second"] == (state, False, False)


def test_an_added_model_that_the_environment_names_leaves_its_key() -> None:
    registered("far", kind="remote", url="http://gpu", key="secret")
    start(model_name="far", backend_url="http://other:8000/v1")
    row = RegisteredModel.objects.get(pk="far")
    assert (row.kind, row.url, row.key, row.is_configured) == ("remote", "http://other:8000/v1", "", True)


def test_an_address_with_a_secret_is_not_kept(tmp_path: Path) -> None:
    start(backend_url="http://user:secret@gpu", model_path=tmp_path)
    row = RegisteredModel.objects.get(pk=CONFIGURED)
    assert (row.kind, row.url) == ("remote", "")
