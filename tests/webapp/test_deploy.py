"""The settings of a site with a public address, and of a changed key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

pytestmark = pytest.mark.slow

OLD, NEW = "old-" + "ab" * 30, "new-" + "cd" * 30


def manage(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        check=False,
        cwd=settings.BASE_DIR,
        env=os.environ | {"SIGHTGLASS_DATA": str(data)} | environment,
        capture_output=True,
        text=True,
    )


def test_a_public_site_passes_djangos_own_check(tmp_path: Path) -> None:
    public = {"SIGHTGLASS_PUBLIC_URL": "https://chat.example.org"}
    checked = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **public)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_what_an_old_key_signed_is_read_until_the_key_is_left_out(tmp_path: Path) -> None:
    sign = "from django.core import signing; print(signing.dumps('kept'))"
    signed = manage(tmp_path, "shell", "--no-imports", "-c", sign, SIGHTGLASS_SECRET_KEY=OLD).stdout.strip()
    read = f"from django.core import signing; print(signing.loads({signed!r}))"
    changed = {"SIGHTGLASS_SECRET_KEY": NEW}
    both = changed | {"SIGHTGLASS_SECRET_KEY_FALLBACKS": f"{'x' * 50}, {OLD}"}
    assert manage(tmp_path, "shell", "--no-imports", "-c", read, **both).stdout == "kept\n"
    assert "BadSignature" in manage(tmp_path, "shell", "--no-imports", "-c", read, **changed).stderr
