"""The commands of docs/api.md, as they stand there, with a shell and curl against a started product."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.faults.conftest import PATIENT, ROOT, Processes
from tests.sign_in import link_in

pytestmark = pytest.mark.slow

PERSON = re.compile(r'\{\s*"name"\s*:\s*"[^"]{0,12}"\s*,\s*"age"\s*:\s*-?\d+\s*\}')


@pytest.fixture
def answers(tmp_path: Path) -> list[str]:
    """What the commands print, block by block."""
    product = Processes(tmp_path, **PATIENT)
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "api.md").read_text("utf-8"), re.DOTALL)
    script = "\necho; echo =====\n".join(["set -eu", *blocks])
    site = str(product.client.base_url).rstrip("/")
    environment = os.environ | {"SITE": site, "LINK": site + link_in(product.data / "sightglass.sqlite3")}
    try:
        product.start_inference()
        run = subprocess.run(
            ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    finally:
        product.close()
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return [part.strip() for part in run.stdout.split("=====")][2:]


def test_they_do_what_they_are_said_to(answers: list[str]) -> None:
    talk, person, date, biased, three, once, refused, wrong, misspelt, notes = answers
    assert len(talk.splitlines()) == 2
    assert PERSON.fullmatch(person) and set(json.loads(person)) == {"name", "age"}
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", date)
    commas, banned = biased.splitlines()
    assert commas == ",,,,," and "," not in banned
    assert len(three.splitlines()) == 3
    first, again, other = once.splitlines()
    assert first == again and json.loads(other)["error"]["code"] == "key_reused"
    assert [each["field"] for each in json.loads(wrong)["error"]["problems"]] == [
        "params.temperature",
        "params.top_p",
        "n",
    ]
    assert json.loads(misspelt)["error"]["field"] == "words"
    assert "8,192 tokens" in notes
    error = json.loads(refused)["error"]
    assert error["field"] == "params.json_schema"
    assert error["message"] == (
        "json_schema must be a text or null, not an object. Send the schema as JSON within a text."
    )
