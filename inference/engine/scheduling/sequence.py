"""One request inside the engine. Knows nothing of tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from inference.engine.scheduling.prefix_cache import next_key, root_key
from inference.eventlog.clock import Clock
from inference.protocol.failures import FailureCode
from inference.protocol.request import CacheTTL, FinishReason, GenerationRequest, Usage, ttl_before


class Status(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


@dataclass(eq=False)
class Sequence:
    """The mutable state of one generation."""

    request: GenerationRequest
    stop_ids: frozenset[int]
    clock: Clock
    window: int
    status: Status = Status.WAITING
    arrival: int = -1
    """Its place in the order of arrival, given by the scheduler."""
    output_ids: list[int] = field(default_factory=list)
    """Tokens sampled."""
    block_table: list[int] = field(default_factory=list)
    num_computed_tokens: int = 0
    """Tokens of input and output whose keys and values are in the table's blocks."""
    num_stored_blocks: int = 0
    """Blocks of the table that the prefix cache gave or was offered."""
    num_settled_blocks: int = 0
    """The most blocks that the prefix cache ever gave or was offered. Preemption does not take them back."""
    num_written_tokens: Counter[CacheTTL] = field(default_factory=Counter)
    """Input tokens in blocks that only this sequence made known to the prefix cache, by class."""
    num_prefilled_tokens: int = 0
    """The most input tokens that ever were computed or found in the cache. Preemption does not take them back."""
    num_cached_tokens: int = 0
    """Input tokens that the prefix cache, or another sequence with the same input, gave."""
    num_preemptions: int = 0
    drafts: tuple[int, ...] = ()
    """Tokens guessed to follow, to be verified in the next step if there is room."""
    is_paused: bool = False
    """Step mode: its next token is proposed, and nothing is computed until it is taken. Its blocks stay until another
    sequence needs them."""
    is_awaiting_mask: bool = False
    """The mask of its grammar is late. It takes part in no step, and keeps its place and its rank."""
    num_permitted: int = 0
    """Step mode: tokens that it may take by itself."""
    finish_reason: FinishReason | None = None
    message: str = ""
    failure_code: FailureCode = "internal"
    prefill_us: int = 0
    decode_us: int = 0

    def __post_init__(self) -> None:
        self.input_ids = (*self.request.prompt_ids, *self.request.kept_ids)
        """Prompt, and the kept tokens of a fork or a resumed answer. All are read before the first token is sampled."""
        self.ids = list(self.input_ids)
        """Input and output."""
        self.answer_ids = list(self.request.kept_ids)
        """Tokens of the answer, kept and sampled. The sampler counts positions and penalties by them."""
        self._block_keys: list[bytes] = []
        self._input_key: bytes | None = None

    @property
    def principal(self) -> str:
        return self.request.principal

    @property
    def num_input_tokens(self) -> int:
        return len(self.input_ids)

    @property
    def num_tokens(self) -> int:
        return len(self.ids)

    @property
    def num_pending_tokens(self) -> int:
        """Tokens not yet computed: the rest of the input (and of the output, after a preemption), or the token sampled
        last."""
        return len(self.ids) - self.num_computed_tokens

    @property
    def num_unread_tokens(self) -> int:
        """Tokens that the client sent and that are not yet computed. Generated tokens, kept ones too, do not count."""
        return max(0, len(self.request.prompt_ids) - self.num_computed_tokens)

    @property
    def is_prefilling(self) -> bool:
        return not self.output_ids or self.num_pending_tokens > 1

    @property
    def is_ready(self) -> bool:
        """Return whether a step may compute its next token."""
        return not (self.is_paused or self.is_awaiting_mask)

    @property
    def num_free_tokens(self) -> int:
        """Number of tokens that it may still generate."""
        return min(self.request.params.max_tokens - len(self.answer_ids), self.window - len(self.ids))

    @property
    def is_prewarming(self) -> bool:
        """Return whether it ends once its input is read."""
        return self.request.params.max_tokens == 0

    def block_ttl(self, index: int, block_size: int) -> CacheTTL:
        """Return the class in which the client wants a full block of the input kept."""
        return ttl_before(self.request.cache_marks, (index + 1) * block_size)

    def block_keys(self, block_size: int) -> list[bytes]:
        """Return the prefix cache's keys of all full blocks."""
        keys, ids = self._block_keys, self.ids
        while (end := (len(keys) + 1) * block_size) <= len(ids):
            parent = keys[-1] if keys else self._root_key()
            keys.append(next_key(parent, ids[end - block_size : end]))
        return keys

    def _root_key(self) -> bytes:
        return root_key(self.principal, self.request.model)

    def input_key(self, block_size: int) -> bytes:
        """Return the key of the whole input, its partly filled last block included."""
        if self._input_key is None:
            num_full = self.num_input_tokens // block_size
            parent = self.block_keys(block_size)[num_full - 1] if num_full else self._root_key()
            self._input_key = next_key(parent, self.input_ids[num_full * block_size :])
        return self._input_key

    def found(self, num_tokens: int) -> None:
        """Take over num_tokens from the start, from the prefix cache or another sequence with the same input."""
        self.num_computed_tokens = num_tokens
        num_input = min(num_tokens, self.num_input_tokens)
        # Tokens that it had computed itself before a preemption do not count as cached.
        self.num_cached_tokens += max(0, num_input - self.num_prefilled_tokens)
        self.num_prefilled_tokens = max(self.num_prefilled_tokens, num_input)

    def advance(self, num_tokens: int) -> None:
        """Count num_tokens more as computed."""
        self.num_computed_tokens += num_tokens
        done = min(self.num_computed_tokens, self.num_input_tokens)
        self.num_prefilled_tokens = max(self.num_prefilled_tokens, done)

    def accept(self, token: int) -> None:
        """Append a sampled token and decide whether it ends the sequence."""
        self.output_ids.append(token)
        self.answer_ids.append(token)
        self.ids.append(token)
        if token in self.stop_ids:
            self.finish("stop")
        elif self.num_free_tokens <= 0:
            self.finish("length")

    def resume(self, ids: Iterable[int]) -> None:
        """Take over the tokens that an earlier attempt sampled; they are output, and are computed again."""
        for token in ids:
            self.accept(token)

    def may_take(self) -> bool:
        """In step mode, return whether it may take one more token by itself, and count that token as taken."""
        is_permitted = self.num_permitted > 0
        self.num_permitted = max(0, self.num_permitted - 1)
        return is_permitted

    def preempt(self) -> None:
        """Note that its blocks are taken. Its tokens stay, to be computed again."""
        self.status = Status.WAITING
        self.num_computed_tokens = self.num_stored_blocks = 0
        self.num_preemptions += 1

    def finish(self, reason: FinishReason, message: str = "", code: FailureCode = "internal") -> None:
        """End the sequence; the first reason stands. message, code: of an error."""
        if self.finish_reason is None:
            self.finish_reason = reason
            self.message = message
            self.failure_code = code
            self.status = Status.FINISHED

    def usage(self) -> Usage:
        """Return the tokens by price class, so far. No token counts as written for a client that did not ask for it."""
        num_computed = self.num_prefilled_tokens - self.num_cached_tokens
        for_5m, for_1h = self.num_written_tokens["5m"], self.num_written_tokens["1h"]
        return Usage(
            uncached_input=num_computed - for_5m - for_1h,
            cache_read=self.num_cached_tokens,
            cache_write_5m=for_5m,
            cache_write_1h=for_1h,
            output=len(self.output_ids),
        )
