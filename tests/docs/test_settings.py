"""The table of settings in docs/operations.md is the one that the settings' own fields make."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inference.worker import settings as worker
from scripts.docs import Setting, page, settings, variables
from webapp import environment as site

ROOT = Path(__file__).parents[2]
SETTINGS = {each.name: each for each in settings()}
EXACT = {name: each for name, each in SETTINGS.items() if re.fullmatch("`[^`]+`", each.default)}
"""Those whose default is a value, not words."""


def test_the_table_is_fresh() -> None:
    stands = (ROOT / "docs" / "operations.md").read_text("utf-8")
    assert stands == page(), "run python -m scripts.docs"


def test_every_variable_has_a_row() -> None:
    assert variables(site) | variables(worker) == SETTINGS.keys()


@pytest.fixture
def defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, object]:
    """What each field holds where no variable is set."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGHTGLASS_DATA", str(tmp_path))
    at_site = vars(site.read_environment())
    monkeypatch.setenv("SIGHTGLASS_OTLP_ENDPOINT", "http://localhost:4318")
    endpoint = site.read_environment().otlp
    return vars(endpoint) | vars(worker.read_settings()) | at_site


@pytest.mark.parametrize("setting", EXACT.values(), ids=EXACT)
def test_a_default_is_what_the_code_takes(setting: Setting, defaults: dict[str, object]) -> None:
    assert f"`{_as_set(setting.name, defaults[setting.field])}`" == setting.default


def _as_set(name: str, value: object) -> object:
    """A value as its variable has it."""
    if name.endswith("_MB"):
        assert isinstance(value, int)
        return value >> 20
    return int(value) if isinstance(value, bool) else value
