"""Our engine, driven as the worker's thread drives it. Knows nothing of the peer.

Every request has a principal of its own unless one is given, so that no prompt is found in the prefix cache.
"""

from __future__ import annotations

import time
from collections import defaultdict

from benchmarks.setting import MODEL, NUM_CANDIDATES, NUM_THREADS, tokenizer
from inference.engine.loading import load_engine
from inference.eventlog.clock import RequestClock, unix_us
from inference.kernels.choice import find_kernels
from inference.models.weights.packed_cache import PackedCache
from inference.protocol.request import GenerationRequest, SamplingParams
from inference.worker.settings import read_settings


class Ours:
    """The engine with the bundled model; greedy requests that no stop token ends."""

    def __init__(self, has_drafts: bool = False, form: str | None = None) -> None:
        """has_drafts: the prompts repeat one sentence, which is better fare for drafts than most. form: of the
        kernels, by name; None: as SIGHTGLASS_KERNELS says."""
        settings = read_settings()
        kernels = find_kernels(settings.kernels_path, NUM_THREADS, form or settings.kernels)
        cache = PackedCache(settings.weights_path)
        self._engine = load_engine(MODEL, NUM_THREADS, tokenizer(), cache=cache, kernels=kernels, has_drafts=has_drafts)
        self._num_requests = 0
        self.token_times: dict[str, list[float]] = defaultdict(list)
        """Of each request of this run, when each of its tokens was there (perf_counter, s)."""

    def submit(
        self, ids: list[int], num_tokens: int, num_candidates: int = NUM_CANDIDATES, principal: str | None = None
    ) -> str:
        """Queue a request; returns its id."""
        self._num_requests += 1
        request_id = f"req_{self._num_requests}"
        clock = RequestClock(unix_us())
        request = GenerationRequest(
            request_id=request_id,
            attempt=1,
            model="benchmark",
            prompt_ids=tuple(ids),
            params=SamplingParams(temperature=0.0, max_tokens=num_tokens),
            accepted_unix_us=unix_us(),
            num_candidates=num_candidates,
            principal=request_id if principal is None else principal,
        )
        self._engine.submit(request, frozenset(), clock)
        return request_id

    def has_work(self) -> bool:
        return self._engine.has_work()

    def step(self) -> None:
        """One step of the engine; notes the time of every new token."""
        outputs = self._engine.step()
        now = time.perf_counter()
        for output in outputs:
            assert output.finish_reason in (None, "length"), output.message
            times = self.token_times[output.request_id]
            times.extend([now] * (output.usage.output - len(times)))

    def run(self) -> list[list[float]]:
        """Step until nothing is left; returns and forgets each request's token times."""
        while self.has_work():
            self.step()
        times, self.token_times = list(self.token_times.values()), defaultdict(list)
        return times

    def decode_rate(self, num_streams: int, ids: list[int], num_tokens: int, num_candidates: int) -> float:
        """Tokens per second of all streams together, from the first stream's first token to the last token of all."""
        for _ in range(num_streams):
            self.submit(ids, num_tokens, num_candidates)
        streams = self.run()
        elapsed = max(times[-1] for times in streams) - min(times[0] for times in streams)
        return sum(len(times) - 1 for times in streams) / elapsed

    def time_to_first_token(self, ids: list[int], principal: str | None = None) -> float:
        """Seconds from submission to the first token."""
        start = time.perf_counter()
        self.submit(ids, 1, principal=principal)
        ((first,),) = self.run()
        return first - start
