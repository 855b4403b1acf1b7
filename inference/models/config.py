"""The shape of a decoder, and the differences between families. Knows nothing of files or tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

MAX_LAYERS = 1024
MAX_WIDTH = 1 << 20
"""Limit of any dimension: far beyond every published model, yet a damaged header cannot ask for terabytes."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of a decoder, and its family's differences. No decoder asks for the architecture's name."""

    architecture: str
    """The architecture's name, for people."""
    quantization: str
    """The most frequent format of the file's matrices, e.g. Q4_1; for people."""
    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    """Independent of hidden_size."""
    vocab_size: int
    context_length: int
    norm_eps: float

    rope_theta: float
    rope_pairing: Literal["adjacent", "halves"]
    """Pairs of a head's numbers that turn together: 2i and 2i + 1, or i and i + head_dim / 2. GGUF files of
    architecture llama have the rows of q and k in the order for adjacent pairs. Other sources have that for halves."""
    rope_divisors: tuple[float, ...] = ()
    """Divisor of each pair's frequency, [head_dim / 2], for windows longer than those trained. Empty: 1."""
    rope_theta_sliding: float = 0.0
    """The base in layers with a sliding window. The divisors do not apply there."""

    has_qkv_bias: bool = False
    has_qk_norm: bool = False
    """RMSNorm of each head of q and k before the rotation (arXiv 2302.05442)."""
    has_post_norms: bool = False
    """RMSNorm of the outputs that attention and MLP add to the residual stream, besides that of their inputs."""
    activation: Literal["silu", "gelu_tanh"] = "silu"
    embedding_scale: float = 1.0
    query_scale: float
    """Factor of attention scores, as a rule head_dim ** -0.5."""
    attention_softcap: float | None = None
    """Scores become cap * tanh(score / cap) (arXiv 2408.00118)."""
    logit_softcap: float | None = None
    sliding_window: int | None = None
    """Tokens that a sliding layer sees, the newest included."""
    sliding_layers: frozenset[int] = frozenset()

    @property
    def num_groups(self) -> int:
        """Query heads that share one key/value head (grouped-query attention, arXiv 2305.13245)."""
        return self.num_heads // self.num_kv_heads

    def window_of(self, layer: int) -> int | None:
        """Tokens that this layer sees; None: all."""
        return self.sliding_window if layer in self.sliding_layers else None

    def rope_frequencies(self, is_sliding: bool) -> tuple[float, ...]:
        """Radians per position of each pair (arXiv 2104.09864), [head_dim / 2]."""
        theta = self.rope_theta_sliding if is_sliding else self.rope_theta
        plain = [theta ** (-pair / self.head_dim) for pair in range(0, self.head_dim, 2)]
        divisors = (self.rope_divisors or ()) if not is_sliding else ()
        return tuple(
            frequency / divisor for frequency, divisor in zip(plain, divisors or [1.0] * len(plain), strict=True)
        )

    def problem(self) -> str | None:
        """Return the first impossible property, for people; None if all is well."""
        return next((text for is_wrong, text in self._checks() if is_wrong), None)

    def _checks(self) -> list[tuple[bool, str]]:
        widths = (self.hidden_size, self.intermediate_size, self.vocab_size, self.context_length, self.num_heads)
        scales = (self.rope_theta, self.query_scale, self.embedding_scale, *self.rope_divisors)
        caps = [cap for cap in (self.attention_softcap, self.logit_softcap) if cap is not None]
        return [
            (not 1 <= self.num_layers <= MAX_LAYERS, f"{self.num_layers} layers"),
            (not all(1 <= width <= MAX_WIDTH for width in widths), f"a dimension out of 1 to {MAX_WIDTH}: {widths}"),
            (not 1 <= self.num_kv_heads <= self.num_heads, f"{self.num_kv_heads} key/value heads"),
            (self.num_heads % max(self.num_kv_heads, 1) != 0, "heads that do not share key/value heads evenly"),
            (self.head_dim < 2 or self.head_dim % 2 != 0, f"heads of {self.head_dim} numbers"),
            (self.num_heads * self.head_dim > MAX_WIDTH, f"{self.num_heads} heads of {self.head_dim} numbers"),
            (not all(map(_is_positive, scales)), f"a rope base, divisor or scale of {scales}"),
            (len(self.rope_divisors) not in (0, self.head_dim // 2), f"{len(self.rope_divisors)} rope divisors"),
            (not all(map(_is_positive, caps)), f"a soft cap of {caps}"),
            (not 0 < self.norm_eps < 1, f"a norm epsilon of {self.norm_eps}"),
            (bool(self.sliding_layers) and not (self.sliding_window or 0) > 0, f"a window of {self.sliding_window}"),
            (bool(self.sliding_layers) and not _is_positive(self.rope_theta_sliding), "a sliding rope base of 0"),
        ]


def _is_positive(value: float) -> bool:
    return math.isfinite(value) and value > 0
