"""One request's stream from a server elsewhere, turned into the outputs that the engine would deliver.

A value that the server does not report is None in the events. Knows nothing of threads or of other requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec

from inference.backends.backend import Job
from inference.backends.chunks import Candidate, Choice, Chunk, Progress, choices, decode_chunk, malformed, payloads
from inference.backends.errors import BackendError, refusal, transport_failure
from inference.backends.parameters import Kind, chat_body, completion_body, is_greedy, problem
from inference.backends.server import Server, Vocabulary
from inference.backends.token_table import TokenTable, hidden_bytes
from inference.backends.told_thinking import ToldThinking
from inference.engine.step_output import StepOutput
from inference.protocol.events import AnyEvent, PrefillAdvanced, TokenSampled
from inference.protocol.failures import FailureCode
from inference.protocol.request import FinishReason, Usage
from inference.protocol.snapshot import WorkerRequest, WorkState

_MOST_PROMPT_TOKENS = 1 << 31
_MORE_IN_ALL = 64
"""Tokens beyond twice the limit at which an answer counts as endless."""
_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length"}


@dataclass(frozen=True)
class Patience:
    """Limits on a server's silence, in seconds."""

    connect_s: float = 5
    first_s: float = 300
    """Before the first token: it may queue, and read a long prompt."""
    next_s: float = 60


class RemoteStream:
    """Reads one answer; `finish` ends it from outside."""

    def __init__(self, job: Job, server: Server, vocabulary: Vocabulary, table: TokenTable, patience: Patience) -> None:
        self._job = job
        self._num_resumed = len(job.output_ids)
        answer_so_far = (*job.request.kept_ids, *job.output_ids)
        self._request = msgspec.structs.replace(job.request, kept_ids=answer_so_far)
        """The request as the server reads it: tokens of an earlier attempt go to it as a fork's kept ones do."""
        self._server = server
        self._vocabulary = vocabulary
        self._table = table
        self._patience = patience
        self._is_greedy = is_greedy(self._request.params)
        self._num_tokens = 0
        self._num_guessed = 0
        """Those of them that only their text tells of: the server counts them itself."""
        self._num_left_out = 0
        """Tokens of thinking that has no place in the answer."""
        self._num_told: int | None = None
        self._thinking = ToldThinking(job.request.thinking, vocabulary, answer_so_far)
        self._num_kept = len(self._request.kept_ids)
        self._num_prompt = len(self._request.prompt_ids) + self._num_kept
        """Tokens that the server reads: the prompt and the answer so far."""
        self._num_prefilled = 0
        self._prefill_ms = 0
        self._num_cached: int | None = None
        self._num_server_prompt: int | None = None
        self._num_image: int | None = None
        self._finish_reason: FinishReason | None = None
        self._admitted_at: int | None = None
        self._prefill_us: int | None = None
        self._decode_us: int | None = None

    @property
    def num_tokens(self) -> int:
        """Return the number of tokens received."""
        return self._num_tokens

    def account(self) -> WorkerRequest:
        """Return the request as the worker's snapshot shows it. A server does not tell what waits."""
        state: WorkState | None = "decode" if self._num_tokens else "prefill" if self._num_prefilled else None
        return self._job.account(state, num_computed=None, num_output=self._num_tokens)

    async def run(self, client: httpx.AsyncClient) -> None:
        """Deliver the answer and its end, an error's included. A cancelled run delivers no end: see `end`."""
        try:
            if reason := self._ended_before():
                self.end(reason)
                return
            self._check()
            await self._read(client)
            self.end(self._finish_reason)
        except BackendError as error:
            self.fail(error.code, str(error))
        except httpx.HTTPError as error:
            failure = transport_failure(error)
            self.fail(failure.code, str(failure))
        except TimeoutError:
            limit_s = self._patience.next_s if self._num_tokens else self._patience.first_s
            self.fail("server_failed", f"The model's server was silent for {limit_s:g} s. Send the message again.")

    def end(self, reason: FinishReason | None) -> None:
        """Deliver the end."""
        self._deliver([], reason)

    def fail(self, code: FailureCode, message: str) -> None:
        """Deliver an end with an error; what was generated before it counts."""
        request_id, usage = self._job.request.request_id, self._usage()
        is_known = self._num_cached is not None
        refused = StepOutput(
            request_id, [], usage, "error", message, None, None, self._admitted_at, is_known, code=code
        )
        self._job.outputs.put(refused)

    def _ended_before(self) -> FinishReason | None:
        """Return the reason for which the tokens of an earlier attempt are the whole answer."""
        if self._job.output_ids and self._job.output_ids[-1] in self._job.stop_ids:
            return "stop"
        return "length" if self._job.output_ids and self._max_tokens <= 0 else None

    def _check(self) -> None:
        request, window = self._request, self._server.window
        if wrong := problem(self._server.kind, request):
            raise BackendError("unsupported", wrong)
        if window is not None and self._num_prompt >= window:
            message = f"the prompt has {self._num_prompt} tokens; the window of the model's server holds {window}"
            raise BackendError("prompt_too_long", message)

    async def _read(self, client: httpx.AsyncClient) -> None:
        server = self._server
        url, body = self._asked()
        async with asyncio.timeout(self._patience.first_s) as limit:
            async with client.stream("POST", url, json=body) as response:
                if response.status_code != 200:
                    raise await refusal(response, server.key)
                self._admitted_at = self._job.clock.at()
                async for chunk in self._chunks(response):
                    if self._is_beyond_end(chunk):
                        return
                    self._take(chunk)
                    patience_s = self._patience.next_s if self._num_tokens else self._patience.first_s
                    limit.reschedule(asyncio.get_running_loop().time() + patience_s)
        if self._finish_reason is None:
            raise BackendError("server_failed", "The model's server ended its answer without a reason. Send it again.")

    def _asked(self) -> tuple[str, dict[str, Any]]:
        """The address and the body: of a chat where the prompt has pictures, of token ids else."""
        job, request, server, most = self._job, self._request, self._server, self._max_tokens
        if not request.chat:
            return server.completions_url, completion_body(server.kind, server.model, request, job.stop_ids, most)
        is_bounded = server.window is None or request.params.max_tokens < server.window - self._num_prompt
        limit = most if is_bounded else None
        return server.chat_url, chat_body(server.kind, server.model, request, job.stop_ids, limit, job.pictures)

    @property
    def _max_tokens(self) -> int:
        request, window = self._request, self._server.window
        limit = request.params.max_tokens - self._num_kept
        return limit if window is None else min(limit, window - self._num_prompt)

    async def _chunks(self, response: httpx.Response) -> AsyncIterator[Chunk]:
        async for data in payloads(response.aiter_bytes()):
            yield decode_chunk(data, self._server.key)

    def _is_beyond_end(self, chunk: Chunk) -> bool:
        """True when the server goes on after a token that ends the answer for us: closing the connection stops it."""
        is_more = bool(chunk.choices and chunk.choices[0].logprobs) or bool(chunk.reasoning)
        return self._finish_reason is not None and is_more

    def _take(self, chunk: Chunk) -> None:
        events: list[AnyEvent] = []
        if chunk.prompt_progress is not None and not self._request.chat:
            events += self._prefill(chunk.prompt_progress)
        found = list(choices(chunk, self._table.find))
        if self._thinking.is_left_out(chunk):
            self._leave_out(chunk, len(found))
            found = []
        events += self._thought(chunk, found)
        for choice in found:
            events += self._hidden(chunk, choice)
            if self._finish_reason is None:
                top = choice.top[: self._job.request.num_candidates]
                events.append(self._sampled(choice.chosen.id, choice.chosen.logprob, top))
        self._num_told = chunk.num_completion or self._num_told
        if self._request.chat:
            self._count_prompt(chunk)
        if chunk.num_cached is not None:
            self._num_cached = min(max(chunk.num_cached, 0), self._num_server_prompt or self._num_prompt)
        if chunk.timings is not None:
            self._prefill_us = _microseconds(chunk.timings.prompt_ms)
            self._decode_us = _microseconds(chunk.timings.predicted_ms)
        if chunk.finish_reason is not None:
            self._accept_reason(chunk.finish_reason)
        if events:
            self._deliver(events)

    def _thought(self, chunk: Chunk, found: list[Choice]) -> list[AnyEvent]:
        """Return the tokens of thinking, and of its tags, that the server shows as text alone."""
        events: list[AnyEvent] = []
        if self._finish_reason is not None:
            return events
        for token in self._thinking.ids_before(chunk, [choice.chosen.id for choice in found]):
            if self._finish_reason is None:
                self._num_guessed += 1
                events.append(self._sampled(token, None, []))
        return events

    def _leave_out(self, chunk: Chunk, num: int) -> None:
        """Count thinking that has no place in the answer. num: of its tokens, where the server gives them."""
        self._num_left_out += num or len(self._vocabulary.encode(chunk.reasoning))
        self._end_where_endless()

    def _end_where_endless(self) -> None:
        """End an answer whose server keeps to no limit in its field of thinking."""
        if self._finish_reason is None and self._num_tokens + self._num_left_out > self._most_in_all:
            self._finish_reason = "length"

    @property
    def _most_in_all(self) -> int:
        """More tokens than an answer within its limit has: our tokens of a server's texts may be more than its own."""
        return 2 * self._max_tokens + _MORE_IN_ALL

    def _count_prompt(self, chunk: Chunk) -> None:
        """Take over the server's counts, which no tokenizer here can make. One that cannot be true is left out."""
        if chunk.num_prompt is not None and 0 < chunk.num_prompt <= _MOST_PROMPT_TOKENS:
            self._num_server_prompt = chunk.num_prompt
        if chunk.num_image is not None and 0 < chunk.num_image <= (self._num_server_prompt or 0):
            self._num_image = chunk.num_image

    def _accept_reason(self, reason: str) -> None:
        if self._finish_reason is None and reason not in _REASONS:
            message = f"The model's server ended its answer for an unknown reason: {reason[:40]!r}."
            raise BackendError("server_failed", message)
        self._finish_reason = self._finish_reason or _REASONS[reason]

    def _prefill(self, progress: Progress) -> list[AnyEvent]:
        total = self._num_prompt
        self._num_cached = min(max(progress.cache, 0), total)
        start, end = max(self._num_prefilled, self._num_cached), min(progress.processed, total)
        if end <= start:
            return []
        advanced = PrefillAdvanced(
            at=self._job.clock.at(),
            start=start,
            end=end,
            total=total,
            step_us=max(0, progress.time_ms - self._prefill_ms) * 1000,
            num_sequences=None,
        )
        self._num_prefilled, self._prefill_ms = end, progress.time_ms
        return [advanced]

    def _hidden(self, chunk: Chunk, choice: Choice) -> list[TokenSampled]:
        """Return the tokens before this one that llama.cpp did not show."""
        if self._server.kind is not Kind.LLAMA_CPP:
            return []
        data = hidden_bytes(chunk.text, self._vocabulary.piece(choice.chosen.id))
        ids = self._table.split(data, self._num_hidden(chunk)) if data else []
        if ids is None:
            raise malformed("text of tokens that our vocabulary does not have")
        return [self._sampled(token, None, []) for token in ids]

    def _num_hidden(self, chunk: Chunk) -> int | None:
        return None if chunk.num_generated is None else chunk.num_generated - self._num_tokens - 1

    def _sampled(self, token: int, logprob: float | None, top: list[Candidate]) -> TokenSampled:
        if any(not 0 <= each < self._vocabulary.vocab_size for each in (token, *(one.id for one in top))):
            raise malformed("a token that our vocabulary does not have")
        is_listed = any(each.id == token for each in top)
        listed = top if is_listed or logprob is None else [*top, Candidate(token, logprob)]
        rank = 1 + sum(each.logprob > logprob for each in top) if is_listed and logprob is not None else None
        sampled = TokenSampled(
            at=self._job.clock.at(),
            position=self._num_kept + self._num_tokens,
            id=token,
            piece=self._vocabulary.piece(token),
            is_special=self._vocabulary.is_special(token),
            is_shown=logprob is not None,
            logprob=logprob,
            rank=rank,
            entropy=None,
            u=None,
            low=0.0 if self._is_greedy else None,
            high=1.0 if self._is_greedy else None,
            log_normalizer=None,
            candidate_ids=tuple(each.id for each in listed),
            candidate_logits=tuple(round(each.logprob, 4) + 0.0 for each in listed),
            candidate_pieces=tuple(self._vocabulary.piece(each.id) for each in listed),
            processors=None,
            step_us=None,
            batch_size=None,
        )
        self._count(token)
        return sampled

    def _count(self, token: int) -> None:
        self._num_tokens += 1
        if token in self._job.stop_ids:
            self._finish_reason = "stop"
        elif self._num_tokens - self._num_guessed >= self._max_tokens:
            self._finish_reason = "length"
        self._end_where_endless()

    def _usage(self) -> Usage:
        """Count the tokens seen; a server's own count may include some that it did not show.

        Tokens of an earlier attempt are output, however often a server reads them.
        """
        num_prompt = self._num_server_prompt or self._num_prompt
        num_read = num_prompt if self._num_tokens else self._num_prefilled
        num_input = min(num_read, num_prompt - self._num_resumed)
        num_cached = min(self._num_cached or 0, num_input)
        num_output = self._num_resumed + min(self._num_tokens, max(self._max_tokens, 0))
        return Usage(uncached_input=num_input - num_cached, cache_read=num_cached, output=num_output)

    @property
    def _num_output_told(self) -> int | None:
        """The server's count where only it knows the number; one that cannot be true is left out."""
        if not self._num_guessed:
            return None
        told, most = self._num_told, self._max_tokens
        is_true = told is not None and self._num_tokens - self._num_guessed <= told <= most
        return self._num_resumed + (told if is_true and told is not None else min(self._num_tokens, most))

    def _deliver(self, events: list[AnyEvent], reason: FinishReason | None = None) -> None:
        output = StepOutput(
            request_id=self._job.request.request_id,
            events=events,
            usage=self._usage(),
            finish_reason=reason,
            prefill_us=self._prefill_us,
            decode_us=self._decode_us,
            admitted_at=self._admitted_at,
            is_cache_known=self._num_cached is not None,
            num_output_told=self._num_output_told,
            num_server_prompt_tokens=self._num_server_prompt,
            num_image_tokens=self._num_image,
        )
        self._job.outputs.put(output)


def _microseconds(ms: float | None) -> int | None:
    return None if ms is None or not 0 <= ms < 1e12 else round(ms * 1000)
