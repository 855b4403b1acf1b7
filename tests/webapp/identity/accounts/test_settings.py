"""The limits of a sign-in come from the environment, and are checked at the start."""

from __future__ import annotations

import pytest

from webapp.environment import read_environment


def test_by_default_a_sign_in_lasts_two_weeks_and_three_days_without_use(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SIGHTGLASS_SESSION_IDLE_MINUTES", "SIGHTGLASS_SESSION_MINUTES"):
        monkeypatch.delenv(name, raising=False)
    found = read_environment()
    assert (found.session_idle_minutes, found.session_minutes) == (3 * 24 * 60, 14 * 24 * 60)


@pytest.mark.parametrize(
    ("idle", "longest", "named"),
    [
        ("soon", "60", "SIGHTGLASS_SESSION_IDLE_MINUTES"),
        ("0", "60", "SIGHTGLASS_SESSION_IDLE_MINUTES"),
        ("4", "60", "SIGHTGLASS_SESSION_IDLE_MINUTES"),
        ("61", "60", "SIGHTGLASS_SESSION_IDLE_MINUTES"),
        ("5", "525601", "SIGHTGLASS_SESSION_MINUTES"),
        ("5", "-1", "SIGHTGLASS_SESSION_MINUTES"),
    ],
)
def test_limits_that_cannot_be_kept_end_the_start(
    monkeypatch: pytest.MonkeyPatch, idle: str, longest: str, named: str
) -> None:
    monkeypatch.setenv("SIGHTGLASS_SESSION_IDLE_MINUTES", idle)
    monkeypatch.setenv("SIGHTGLASS_SESSION_MINUTES", longest)
    with pytest.raises(SystemExit, match=named):
        read_environment()


def test_the_least_and_the_longest_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTGLASS_SESSION_IDLE_MINUTES", "5")
    monkeypatch.setenv("SIGHTGLASS_SESSION_MINUTES", "525600")
    assert read_environment().session_minutes == 525_600
