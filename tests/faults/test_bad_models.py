"""A model file that is missing or damaged: said in one line at the start, by the site's status and by each request."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from inference.tokenization.gguf_metadata import Metadata
from tests.environment import share_database
from tests.faults.conftest import PATIENT, ROOT, Processes
from tests.ports import free_port

SAID = {
    "missing": "does not exist; give the path",
    "cut in the weights": "damaged or truncated; download it again",
    "of another kind": "not a whole GGUF file; download it again",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, model_path: Path) -> dict[str, Path]:
    folder, whole = tmp_path_factory.mktemp("models"), model_path.read_bytes()
    (folder / "cut in the weights").write_bytes(whole[: len(whole) // 2])
    (folder / "of another kind").write_bytes(b"PK\x03\x04" + whole[4:20_000])
    return {name: folder / name for name in SAID}


def test_the_product_does_not_start_and_says_why_in_one_line(files: dict[str, Path], tmp_path: Path) -> None:
    """The reason is the worker's own word, which the test of a running site has for each kind of file."""
    name = "cut in the weights"
    said = refusal(SIGHTGLASS_MODEL=str(files[name]), SIGHTGLASS_DATA=str(tmp_path))
    assert said.startswith("sightglass: The model could not be loaded: ")
    assert str(files[name]) in said
    assert SAID[name] in said


def test_a_setting_of_the_worker_that_cannot_be_used_is_said_too(tmp_path: Path) -> None:
    said = refusal(SIGHTGLASS_THREADS="0", SIGHTGLASS_DATA=str(tmp_path))
    assert "SIGHTGLASS_THREADS is '0'; use a whole number" in said


def refusal(**own: str) -> str:
    """What `manage.py up` says when it does not start: one line."""
    share_database(Path(own["SIGHTGLASS_DATA"]))
    command, environment = [sys.executable, "manage.py", "up"], os.environ | {"PORT": str(free_port())} | own
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    return run.stderr


@pytest.fixture
def broken_template(tmp_path: Path, model_path: Path, metadata: Metadata) -> Iterator[Path]:
    """The bundled model with half a template of the same length."""
    assert metadata.chat_template is not None
    template = metadata.chat_template.encode()
    path = tmp_path / "model.gguf"
    path.write_bytes(model_path.read_bytes().replace(template, b"{% for message in messages %}".ljust(len(template))))
    yield path
    path.unlink()


def test_a_broken_chat_template_is_said_by_each_request_and_leaves_the_page_alive(
    tmp_path: Path, broken_template: Path
) -> None:
    with closing(Processes(tmp_path, SIGHTGLASS_MODEL=str(broken_template), **PATIENT)) as processes:
        assert processes.client.get("/api/session").json()["models"][0]["window"] is None
        assert processes.status("/api/models/smollm2-135m-instruct/tokenizer.json") == 503
        events = list(processes.events(processes.send("Hello")))
        assert (events[-1]["type"], events[-1]["code"]) == ("request.failed", "model_unavailable")
        assert "the chat template is not valid" in events[-1]["message"]


@pytest.fixture(params=SAID)
def site(request: pytest.FixtureRequest, files: dict[str, Path], tmp_path: Path) -> Iterator[tuple[Processes, str]]:
    """Processes that nobody supervises, as in production, where a worker without its model goes on."""
    running = Processes(tmp_path, SIGHTGLASS_MODEL=str(files[request.param]), **PATIENT)
    running.start_inference("failed")
    yield running, request.param
    running.close()


def test_a_running_site_says_it_by_its_status_and_by_each_request(
    site: tuple[Processes, str], files: dict[str, Path]
) -> None:
    processes, name = site
    said = SAID[name]
    assert str(files[name]) in processes.client.get("/api/health").json()["workers"][0]["message"]
    ready = processes.client.get("/readyz")
    assert (ready.status_code, ready.json()) == (503, {"status": "not ready"})
    health = processes.client.get("/api/health").json()
    assert health["checks"] == {"database": True, "redis": True, "worker": False}
    assert said in health["workers"][0]["message"]
    assert processes.client.get("/api/session").json()["models"][0]["is_ready"] is False
    events = list(processes.events(processes.send("Hello")))
    assert (events[-1]["type"], events[-1]["code"]) == ("request.failed", "model_unavailable")
    assert said in events[-1]["message"]
