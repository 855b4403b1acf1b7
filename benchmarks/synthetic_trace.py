"""A long request's log made by rule: valid in every field, and the same every time. Nothing in it was measured.

4,000 tokens of 20 candidates, each with a guess, a grammar's mask, a check and a release: more than 20,000 events.
It waits twice: in the queue, and once more for memory.
"""

from __future__ import annotations

import math
import random
from typing import Any

from inference.protocol.events import (
    AnyEvent,
    BillLine,
    BillPosted,
    CacheLookedUp,
    ClientTiming,
    ContextAssembled,
    DraftVerified,
    Frame,
    GatewayChecked,
    GenerationFinished,
    GenerationPreempted,
    GenerationQueued,
    GenerationStarted,
    GrammarMasked,
    PrefillAdvanced,
    ProcessorEffect,
    PromptTokenized,
    RequestAccepted,
    RequestFinished,
    RequestObserved,
    SafetyChecked,
    SafetyScore,
    Segment,
    TextReleased,
    TokenSampled,
)
from inference.protocol.request import SamplingParams, Usage
from webapp.traces.file import archive

NUM_TOKENS = 4000
NUM_CANDIDATES = 20
NUM_PROMPT_TOKENS = 1204
STEP_US = 6500
ACCEPTED_UNIX_US = 1_750_000_000_000_000
WORDS = (" the", " light", " of", " a", " ship", " counted", " forty", "-two", " names", ",", " and", " wrote", ".\n\n")
PARAMS = SamplingParams(temperature=0.8, top_k=40, top_p=0.95, seed=7, max_tokens=NUM_TOKENS)
USAGE = Usage(uncached_input=116, cache_read=1088, cache_write_5m=0, cache_write_1h=0, output=NUM_TOKENS)


class Log:
    """Appends events to frames on a clock that is only ever set forward."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.at = 0
        self._random = random.Random(7)

    def after(self, us: int) -> int:
        """The time some µs later."""
        self.at += us
        return self.at

    def append(self, *events: AnyEvent) -> None:
        seq = self.frames[-1].seq + len(self.frames[-1].events) if self.frames else 1
        self.frames.append(Frame(seq=seq, events=events))

    def jitter(self, us: int) -> int:
        return round(us * (0.9 + 0.2 * self._random.random()))

    def logits(self) -> list[float]:
        """Falling, with four decimals, as the engine records them; all else it records with six."""
        value, found = 18.0 + self._random.random(), []
        for _ in range(NUM_CANDIDATES):
            found.append(round(value, 4))
            value -= 0.05 + self._random.random() * 0.6
        return found

    def draw(self) -> float:
        return self._random.random()


def frames(num_tokens: int = NUM_TOKENS) -> list[Frame]:
    """The whole log."""
    log = Log()
    _prepare(log)
    _prefill(log)
    for position in range(num_tokens):
        _token(log, position)
        if position == num_tokens // 3:
            _preempt(log)
    _finish(log)
    return log.frames


def _prepare(log: Log) -> None:
    client = ClientTiming(keydown_unix_us=ACCEPTED_UNIX_US - 9000, sent_unix_us=ACCEPTED_UNIX_US - 6000)
    log.append(
        RequestAccepted(
            at=0,
            request_id="req_synthetic",
            surface="chat",
            model="smollm2-135m-instruct",
            params=PARAMS,
            accepted_unix_us=ACCEPTED_UNIX_US,
            features=(),
            client=client,
            tls_version=None,
            http_version="1.1",
            received_at=-2600,
        ),
        GatewayChecked(at=log.after(1400), principal="user:1", limits=(), duration_us=4000),
    )
    log.append(_check(log, "input", 0, 60, 2100))
    text = " ".join(["The old lighthouse keeper counted forty-two ships that night."] * 20)
    segment = Segment(kind="user", role="user", start=0, end=NUM_PROMPT_TOKENS, source="message:synthetic", text=text)
    log.append(
        ContextAssembled(
            at=log.after(5200),
            window=8192,
            reserved_output=NUM_TOKENS,
            num_prompt_tokens=NUM_PROMPT_TOKENS,
            segments=(segment,),
            dropped=(),
            duration_us=4600,
        ),
        PromptTokenized(
            at=log.after(2400),
            tokenizer="BPE",
            version="synthetic",
            ids=tuple(range(100, 100 + NUM_PROMPT_TOKENS)),
            pieces=tuple(WORDS[index % len(WORDS)].encode() for index in range(NUM_PROMPT_TOKENS)),
            special=(0,),
            lossy_bytes=0,
            duration_us=2400,
        ),
        GenerationQueued(at=log.after(300), attempt=1, queue_depth=3),
    )


def _prefill(log: Log) -> None:
    log.append(
        GenerationStarted(
            at=log.after(9_000_000),
            worker="worker:1",
            attempt=1,
            device="cpu",
            model="smollm2-135m-instruct",
            architecture="llama",
            quantization="Q8_0",
            compute="int8 per channel decode, bf16 prefill",
            server=None,
            queued_us=9_000_000,
        ),
        CacheLookedUp(
            at=log.at,
            block_size=16,
            hits=(True,) * 68 + (False,) * 7,
            num_cached_tokens=1088,
            saved_us=410_000,
            num_timed_tokens=1088,
        ),
    )
    step = log.jitter(44_000)
    log.append(_prefilled(log.after(step), 1088, NUM_PROMPT_TOKENS, step))


def _prefilled(at: int, start: int, end: int, step_us: int) -> PrefillAdvanced:
    return PrefillAdvanced(at=at, start=start, end=end, total=end, step_us=step_us, num_sequences=2)


def _token(log: Log, position: int) -> None:
    step = log.jitter(STEP_US)
    at = log.after(step)
    word = WORDS[position % len(WORDS)]
    guess = (_id(position), word.encode())
    log.append(
        GrammarMasked(at=at - 300, position=position, num_allowed=900, duration_us=80),
        DraftVerified(at=at, position=position, ids=guess[:1], pieces=guess[1:], num_accepted=0, source="ngram"),
        _sampled(log, position, at, step),
        _check(log, "output", position * 4, position * 4 + 5, 350),
        TextReleased(at=log.after(60), text=word, num_tokens=position + 1),
    )


def _id(position: int) -> int:
    return 1000 + position % len(WORDS)


def _sampled(log: Log, position: int, at: int, step_us: int) -> TokenSampled:
    logits = log.logits()
    chosen, u = _id(position), log.draw()
    ids = (chosen, *(2000 + index for index in range(1, NUM_CANDIDATES)))
    pieces = [WORDS[(position if index == 0 else index) % len(WORDS)].encode() for index in range(NUM_CANDIDATES)]
    normalizer = _log_sum_exp([*logits, logits[-1] + 2])
    scaled = [value / PARAMS.temperature for value in logits]
    low = math.floor(u * 0.9 * 1e6) / 1e6
    return TokenSampled(
        at=at,
        position=position,
        id=chosen,
        piece=pieces[0],
        is_special=False,
        is_shown=True,
        logprob=round(logits[0] - normalizer, 6),
        rank=1,
        entropy=2.1,
        u=u,
        low=low,
        high=round(low + 0.1, 7),
        log_normalizer=normalizer,
        candidate_ids=ids,
        candidate_logits=tuple(logits),
        candidate_pieces=tuple(pieces),
        processors=(
            ProcessorEffect(name="temperature", num_candidates=49152, mass=1.0, log_normalizer=_log_sum_exp(scaled)),
            ProcessorEffect(name="top_k", num_candidates=40, mass=0.97, log_normalizer=_log_sum_exp(scaled)),
            ProcessorEffect(name="top_p", num_candidates=18, mass=0.95, log_normalizer=_log_sum_exp(scaled[:18])),
        ),
        step_us=step_us,
        batch_size=2,
    )


def _log_sum_exp(values: list[float]) -> float:
    most = max(values)
    return round(most + math.log(sum(math.exp(value - most) for value in values)), 6)


def _check(log: Log, layer: Any, start: int, end: int, us: int) -> SafetyChecked:
    return SafetyChecked(
        at=log.after(us),
        layer=layer,
        classifier="rules",
        version="1",
        policy="default 1",
        scores=(SafetyScore(category="violence", score=0.01, threshold=0.5, verdict="allow"),),
        verdict="allow",
        start=start,
        end=end,
        duration_us=us,
        buffered_us=us,
    )


def _preempt(log: Log) -> None:
    log.append(GenerationPreempted(at=log.after(900), num_tokens=2537, num_blocks=159))
    log.after(6_000_000)
    step = log.jitter(180_000)
    log.append(_prefilled(log.after(step), 0, 2537, step))


def _finish(log: Log) -> None:
    log.append(
        GenerationFinished(
            at=log.after(300),
            finish_reason="length",
            usage=USAGE,
            prefill_us=44_000,
            decode_us=NUM_TOKENS * STEP_US,
            message="",
            is_cache_known=True,
        )
    )
    lines = (BillLine(kind="output", num_tokens=NUM_TOKENS, unit_price_nano=2, amount_nano=2 * NUM_TOKENS),)
    bill = BillPosted(at=log.after(4000), currency="USD", price_version="1", lines=lines, total_nano=2 * NUM_TOKENS)
    log.append(bill)
    log.append(RequestFinished(at=log.after(9000), finish_reason="length", usage=USAGE))
    texts = [event.at for frame in log.frames for event in frame.events if isinstance(event, TextReleased)]
    log.append(RequestObserved(at=log.at, client=_client(texts[0], texts[-1])))


def _client(first_text: int, last_text: int) -> ClientTiming:
    return ClientTiming(
        keydown_unix_us=ACCEPTED_UNIX_US - 9000,
        sent_unix_us=ACCEPTED_UNIX_US - 6000,
        responded_unix_us=ACCEPTED_UNIX_US + 3000,
        connected_unix_us=ACCEPTED_UNIX_US + 4000,
        first_frame_unix_us=ACCEPTED_UNIX_US + first_text + 1800,
        first_paint_unix_us=ACCEPTED_UNIX_US + first_text + 9000,
        last_frame_unix_us=ACCEPTED_UNIX_US + last_text + 1500,
        last_paint_unix_us=ACCEPTED_UNIX_US + last_text + 11_000,
        clock_offset_us=0,
    )


def trace_file(num_tokens: int = NUM_TOKENS) -> bytes:
    """The log as a file that the library imports."""
    log = frames(num_tokens)
    duration = max(event.at for frame in log for event in frame.events)
    return archive.encode(log, {"title": "A long answer", "model": "smollm2-135m-instruct", "duration_us": duration})
