"""Runs a client in the environment where it is installed, and reads what it prints."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.bootstrap import client_python
from tests.conformance.conftest import EMBEDDING_MODEL, MODEL, Access

HERE = Path(__file__).parent
Heard = Callable[[str, str], Any]


@pytest.fixture(scope="session")
def heard(access: Access, tmp_path_factory: pytest.TempPathFactory) -> Heard:
    """Runs a script in an environment: `heard("litellm", "litellm_client.py")` is the object that it prints."""
    home = tmp_path_factory.mktemp("home")

    def run(environment: str, script: str) -> Any:
        command = [client_python(environment), HERE / script, access.address, access.key, MODEL, EMBEDDING_MODEL]
        # LiteLLM would ask a server for its list of prices, and wait for it three times where there is no network.
        env = os.environ | {"HOME": str(home), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
