"""Makes probes one at a time: loads the model on first use and frees it when idle. Knows nothing of queues."""

from __future__ import annotations

import ctypes
import gc
import threading
from functools import cached_property
from pathlib import Path

import torch

from inference.modelfiles.errors import ModelFileError
from inference.models.sources.source import ModelSource, open_model
from inference.probes.errors import ProbeError
from inference.probes.experiments import ReadOutcome, ReadRequest, request_ids, run
from inference.probes.model import ProbedModel
from inference.probes.probes import attend, compare, lens, measure, sum_up
from inference.protocol.events import AnyProbe
from inference.protocol.request import MAX_PROBE_TOKENS, ProbeRequest
from inference.tokenization.gguf_metadata import TokenizerError, read_metadata
from inference.tokenization.tokenizer import Tokenizer

_C_LIBRARY = ctypes.CDLL(None)

_IDLE_S = 60.0
"""Seconds that an idle laboratory keeps the weights, four bytes each, for another probe."""


class Laboratory:
    """One model file; any thread may call it, and one call runs at a time."""

    def __init__(self, path: Path, model_name: str, idle_s: float = _IDLE_S) -> None:
        self._path = path
        self._name = model_name
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._model: ProbedModel | None = None
        self._principal = ""
        """The principal of the sequence that the model keeps."""
        self._timer: threading.Timer | None = None
        self.is_freed = threading.Event()
        """Set while no weights are held."""
        self.is_freed.set()

    def probe(self, request: ProbeRequest) -> AnyProbe:
        """Make one probe. Raises ProbeError."""
        with self._lock:
            try:
                self._check(request)
                return self._probe(request)
            except (ModelFileError, TokenizerError) as error:
                raise ProbeError("model_unavailable", f"The model cannot be read: {error}") from error
            finally:
                self._start_timer()

    def run(self, request: ReadRequest, principal: str) -> ReadOutcome:
        """Run one experiment. principal: as in ProbeRequest. Raises ProbeError."""
        with self._lock:
            try:
                if not all(0 <= token < self._source.config.vocab_size for token in request_ids(request)):
                    raise ProbeError("invalid", "The text has token ids that this model's vocabulary does not have.")
                return run(request, self._loaded(principal), self._tokenizer.label)
            except (ModelFileError, TokenizerError) as error:
                raise ProbeError("model_unavailable", f"The model cannot be read: {error}") from error
            finally:
                self._start_timer()

    def _probe(self, request: ProbeRequest) -> AnyProbe:
        match request.kind:
            case "attention":
                return attend(request, self._loaded(request.principal))
            case "sources":
                return sum_up(request, self._loaded(request.principal))
            case "lens":
                return lens(request, self._loaded(request.principal), self._tokenizer.label)
            case "neighbours":
                return compare(request, self._loaded(request.principal), self._tokenizer.label)
            case "memory":
                return measure(request, self._source.config)

    def _check(self, request: ProbeRequest) -> None:
        """Refuse a request that another model computed, and tokens that cannot be probed. Raises ProbeError."""
        config = self._source.config
        own = {
            "name": (request.model, self._name),
            "tokenizer": (request.tokenizer_version, self._tokenizer.version),
            "architecture": (request.architecture, config.architecture),
            "format": (request.quantization, config.quantization),
        }
        for what, (theirs, ours) in own.items():
            if theirs != ours:
                message = f"This request was computed by another model than this server's: its {what} was {theirs},"
                raise ProbeError("other_model", f"{message} here it is {ours}. A probe would show wrong figures.")
        ids = request.ids if request.next_id is None else (*request.ids, request.next_id)
        if not all(0 <= token < config.vocab_size for token in ids):
            raise ProbeError("invalid_ids", "The trace has token ids that this model's vocabulary does not have.")
        # Memory is counted, not computed: any length will do.
        if not request.ids or (request.kind != "memory" and len(request.ids) > MAX_PROBE_TOKENS):
            raise ProbeError("invalid_ids", f"A probe looks at 1 to {MAX_PROBE_TOKENS:,} tokens.")

    @cached_property
    def _source(self) -> ModelSource:
        return open_model(self._path)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(read_metadata(self._path))

    def _loaded(self, principal: str) -> ProbedModel:
        if self._model is None:
            # Serving needs the cores.
            torch.set_num_threads(1)
            self._model = ProbedModel(self._source, MAX_PROBE_TOKENS)
            self.is_freed.clear()
        # A probe's duration would reveal another user's prompt.
        if principal != self._principal:
            self._model.forget()
            self._principal = principal
        return self._model

    def _start_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._idle_s, self._free)
        self._timer.daemon = True
        self._timer.start()

    def _free(self) -> None:
        with self._lock:
            if self._timer is not threading.current_thread():  # another probe has restarted the timer
                return
            self._model = None
            gc.collect()
            # glibc would keep the freed memory for later use; other allocators have no such call.
            if hasattr(_C_LIBRARY, "malloc_trim"):
                _C_LIBRARY.malloc_trim(0)
            self.is_freed.set()
