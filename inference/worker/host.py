"""Loads model, tokenizer and classifier once per worker and reports its progress. Knows nothing of tasks."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import redis

from inference.backends.backend import Backend
from inference.engine.loading import load_engine
from inference.eventlog.clock import unix_us
from inference.eventlog.connections import connect
from inference.eventlog.event_log import EventLog
from inference.eventlog.keys import DRAINED_WORKERS, model_queue, worker_key, worker_queue
from inference.eventlog.leases import RedisLeases
from inference.eventlog.pictures import RedisPictures
from inference.eventlog.redis_log import RedisEventLog
from inference.grammar.grammar import Grammars
from inference.kernels.choice import find_kernels
from inference.models.device import find_cuda
from inference.models.weights.packed_cache import PackedCache
from inference.safety import load_guard
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer
from inference.worker.cancel_flags import CancelFlags
from inference.worker.engine_thread import EngineThread
from inference.worker.generation import WorkerServices
from inference.worker.lease_keeper import LeaseKeeper
from inference.worker.peeks import answer_peeks
from inference.worker.publishing import Publisher
from inference.worker.settings import WorkerSettings

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

_HEARTBEAT_S = 2.0
_EXPIRY_S = 10
_APPEND_PATIENCE_S = 17.0
"""An append is tried for so long: longer than a Redis failover, shorter than the time limit of a silent request."""
_DRAIN_CHECK_S = 0.05
_STOPPED = "The inference worker was stopped. Send the message again."
_ENGINE_DIED = "The engine's thread has ended or hangs; the inference worker's log has the details."


class ModelUnavailable(Exception):
    """The model could not be loaded; the message says why."""


def new_name() -> str:
    """Return a name for this worker."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(2)}"  # a container repeats the first two


class Host:
    """Starts loading when constructed; `services` waits until the model is loaded."""

    def __init__(self, name: str, settings: WorkerSettings) -> None:
        self._settings = settings
        self.name = name
        self._started_unix_us = unix_us()
        self._client = connect(settings.redis_url)
        self.log: EventLog = RedisEventLog.from_url(settings.redis_url, patience_s=_APPEND_PATIENCE_S)
        leases = RedisLeases(connect(settings.redis_url))
        self.leases = LeaseKeeper(leases, name)
        self.leases.start()
        self._status = {"state": "loading", "progress": "0", "message": "", "model": settings.model_name}
        self._services: WorkerServices | None = None
        self._cuda: torch.device | None = None
        self._is_done = threading.Event()
        self._is_loaded = threading.Event()
        self._is_leaving = False
        """True: the worker was told to stop."""
        self._is_stopping = threading.Event()
        threading.Thread(target=self._load, name="load", daemon=True).start()
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()
        threading.Thread(target=self._answer_peeks, name="peeks", daemon=True).start()
        threading.Thread(target=self._publish, name="snapshots", daemon=True).start()

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping.is_set()

    def services(self) -> WorkerServices:
        """Wait until the model is loaded. Raises ModelUnavailable."""
        self._is_done.wait()
        if self._services is None:
            raise ModelUnavailable(self._status["message"])
        return self._services

    def is_ready(self, timeout_s: float) -> bool:
        """Wait for the model; False where it is not loaded yet, or cannot be."""
        return self._is_loaded.wait(timeout_s)

    @property
    def model_queue(self) -> str:
        """The queue of the loaded model."""
        return model_queue(self._settings.model_name, self.services().tokenizer.version)

    @property
    def is_taking(self) -> bool:
        """Return whether the worker takes requests now."""
        return self._status["state"] == "ready"

    def serve(self, num_places: int) -> None:
        """Announce that the worker takes up to so many requests."""
        version = self.services().tokenizer.version
        self._set(state="ready", progress="1", tokenizer=version, num_places=str(num_places))

    def _follow_operator(self) -> None:
        """Take no more requests while an operator says so. Raises RedisError."""
        if self._is_leaving or self._status["state"] not in ("ready", "draining"):
            return
        is_drained = bool(self._client.sismember(DRAINED_WORKERS, self.name))
        if is_drained == self.is_taking:
            self._set(state="draining" if is_drained else "ready")
            if is_drained:
                self._give_back()

    def drain(self) -> None:
        """Take no more requests; end those that run within the deadline, and hand the rest over to other workers."""
        if not self._is_loaded.is_set():
            self.stop()
            return
        self._is_leaving = True
        self._set(state="draining")
        self._give_back()
        threading.Thread(target=self._stop_in_time, name="drain", daemon=True).start()

    def _give_back(self) -> None:
        """Move the messages that wait for this worker to its model's queue."""
        try:
            while self._client.lmove(worker_queue(self.name), self.model_queue, "RIGHT", "LEFT"):
                pass
        except redis.RedisError as error:
            logger.warning("waiting requests are not given back: %s", error)

    def _stop_in_time(self) -> None:
        deadline = time.monotonic() + self._settings.drain_s
        while self.leases.num_held and time.monotonic() < deadline:
            time.sleep(_DRAIN_CHECK_S)
        self.stop()

    def stop(self) -> None:
        """Hand over running requests and end the heartbeat."""
        self._is_stopping.set()
        if self._services is not None:
            self._services.backend.stop(_STOPPED)
        if self._is_loaded.is_set():
            self._give_back()
        self._client.delete(worker_key(self.name))

    def _load(self) -> None:
        try:
            self._services = self._build()
            self._is_loaded.set()
        except Exception as error:  # any error: people must read it on the page
            logger.exception("the model could not be loaded")
            self._set(state="failed", message=f"{error}")
        self._is_done.set()
        if self._is_stopping.is_set():
            self.stop()

    def _build(self) -> WorkerServices:
        settings = self._settings
        tokenizer = Tokenizer(read_metadata(settings.model_path))
        guard = load_guard(settings.policy_path, keep=PackedCache(settings.weights_path).load_or_build)
        start = self._start_remote if settings.backend_url else self._start_engine
        pictures = RedisPictures(self._client)
        backend = start(tokenizer, self.log)
        return WorkerServices(self.name, backend, tokenizer, Grammars(tokenizer), guard, self.log, pictures)

    def _start_engine(self, tokenizer: Tokenizer, log: EventLog) -> Backend:
        settings = self._settings
        self._cuda = find_cuda(settings.device)
        cache = PackedCache(settings.weights_path)
        kernels = find_kernels(settings.kernels_path, settings.num_threads, settings.kernels, self._on_torch)
        engine = load_engine(
            settings.model_path,
            settings.num_threads,
            tokenizer,
            self._on_progress,
            cache,
            kernels,
            settings.kv_bytes,
            draft_path=_checked(settings.draft_path, tokenizer),
            is_bitwise=settings.is_bitwise,
            cuda=self._cuda,
            on_torch=self._on_torch,
        )
        thread = EngineThread(engine, log)
        thread.start()
        return thread

    def _start_remote(self, tokenizer: Tokenizer, log: EventLog) -> Backend:
        # Imported here: they bring httpx, which takes a twentieth of a second, and the engine needs none of it.
        from inference.backends.remote_backend import RemoteBackend
        from inference.backends.server import connect

        settings = self._settings
        assert settings.backend_url is not None
        server = connect(settings.backend_url, settings.backend_key, settings.model_name, tokenizer)
        flags = CancelFlags(log)
        flags.start()
        backend = RemoteBackend(server, tokenizer, flags.cancelled)
        backend.start()
        return backend

    def _answer_peeks(self) -> None:
        self._is_done.wait()
        if self._services is not None:
            answer_peeks(self._settings.redis_url, self.name, self._services.backend, self._is_stopping)

    def _publish(self) -> None:
        self._is_done.wait()
        if self._services is not None:
            publisher = Publisher(
                self.name, self._settings.model_name, self._services.backend, self._started_unix_us, self._cuda
            )
            publisher.run(self._settings.redis_url, self._is_stopping)

    def _on_torch(self, reason: str) -> None:
        """Leave word for `make up`. On a GPU the choice of PyTorch is the operator's own."""
        if self._cuda is None:
            self._set(notice=f"PyTorch computes the model, more slowly than the kernels: {reason}.")

    def _on_progress(self, share: float) -> None:
        self._set(progress=f"{share:.2f}")

    def _set(self, **fields: str) -> None:
        self._status |= fields
        self._write()

    def _beat(self) -> None:
        while not self._is_stopping.wait(_HEARTBEAT_S):
            if self._services is not None and not self._services.backend.is_alive():
                self._die()
            self._write()
            self._heed()

    def _die(self) -> None:
        """End the process: a worker without its engine would take every request and fail it.

        Once it has ended, another worker takes them, or all stops.
        """
        self._set(state="failed", message=_ENGINE_DIED)
        time.sleep(_HEARTBEAT_S)  # the running tasks see it too, and report the end of their requests
        logger.critical(_ENGINE_DIED)
        os._exit(1)

    def _heed(self) -> None:
        try:
            self._follow_operator()
        except redis.RedisError as error:
            logger.warning("an operator's word cannot be read: %s", error)

    def _write(self) -> None:
        try:
            pipeline = self._client.pipeline()
            pipeline.hset(worker_key(self.name), items=_flat(self._status | {"heartbeat": str(time.time())}))
            pipeline.expire(worker_key(self.name), _EXPIRY_S)
            pipeline.execute()
        except redis.RedisError as error:
            logger.warning("heartbeat failed: %s", error)


def _checked(draft_path: Path | None, tokenizer: Tokenizer) -> Path | None:
    """Check the draft model's tokenizer. Raises ModelUnavailable, or what reading the draft model raises."""
    if draft_path and Tokenizer(read_metadata(draft_path)).version != tokenizer.version:
        raise ModelUnavailable(
            f"SIGHTGLASS_DRAFT_MODEL: {draft_path} has another tokenizer than the model itself; "
            "choose a smaller model of the same family"
        )
    return draft_path


def _flat(fields: dict[str, str]) -> list[str]:
    return [part for pair in fields.items() for part in pair]
