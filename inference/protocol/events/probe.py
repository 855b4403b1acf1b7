"""Events of probes: attention, its sums by source, lens, neighbours, memory. Knows nothing of how a probe is made."""

from __future__ import annotations

from inference.protocol.events.base import Event, Value


class ProbeAttended(Event, frozen=True, kw_only=True, tag="probe.attended"):
    """One token's attention weights, per layer and head, from a forward pass repeated for the probe.

    Probes run on demand, also long after the request ended. Their events stand beside its log, never in it.
    """

    position: int
    """Index of the attending token in prompt and answer together."""
    num_layers: int
    num_heads: int
    weights: bytes
    """[num_layers, num_heads, position + 1], one byte each (base64 in JSON). A weight is (byte / 255) squared, so that
    small weights are seen. The error is at most 0.004 times the weight's root."""
    compute: str
    """Number format of the pass."""
    duration_us: int


class ProbeSummed(Event, frozen=True, kw_only=True, tag="probe.summed"):
    """Attention of each token that made the answer, summed over ranges of the context.

    A weight is the mean over all heads of all layers. A share says where the model looked, not what caused a word.
    """

    first: int
    """Index of the first attending token in prompt and answer together. Each chose the token after it."""
    position: int
    """Index of the last attending token."""
    starts: tuple[int, ...]
    """First token of each range, from 0; the next range ends it, and the last one has all later tokens. The first
    token of all is a range of its own: models put spare attention on it."""
    shares: bytes
    """[position - first + 1, num_ranges], little-endian float32 (base64 in JSON). Each is the sum of the mean weights
    on a range. Rows sum to 1."""
    num_layers: int
    num_heads: int
    compute: str
    """Number format of the pass."""
    duration_us: int


class LensLayer(Value, frozen=True, kw_only=True):
    """The next tokens that the residual stream after one layer predicts."""

    ids: tuple[int, ...]
    """The most likely tokens, most likely first."""
    pieces: tuple[bytes, ...]
    """Their bytes (base64 in JSON); a control token's name."""
    probabilities: tuple[float, ...]
    next_probability: float | None
    """Probability of the token that came next. None: no token has come."""
    next_rank: int | None
    """Rank of the token that came next, from 1. None: no token has come."""


class ProbeLensed(Event, frozen=True, kw_only=True, tag="probe.lensed"):
    """The logit lens: final norm and output head applied to the residual stream after each layer."""

    position: int
    """Index, in prompt and answer together, of the token whose successor is predicted."""
    next_id: int | None
    """The token that came next. None: no token has come."""
    layers: tuple[LensLayer, ...]
    """Layers from first to last. The last layer's prediction is the model's own."""
    compute: str
    """Number format of the pass."""
    duration_us: int


class Neighbour(Value, frozen=True, kw_only=True):
    """A token whose embedding points in nearly the same direction."""

    id: int
    piece: bytes
    """Its bytes (base64 in JSON); a control token's name."""
    cosine: float
    """Cosine of the angle between the two embeddings, -1 to 1."""


class ProbeCompared(Event, frozen=True, kw_only=True, tag="probe.compared"):
    """A token's embedding compared with all others of the vocabulary."""

    position: int
    """The token's index in prompt and answer together."""
    id: int
    vocab_size: int
    neighbours: tuple[Neighbour, ...]
    """The nearest tokens, nearest first, without the token itself."""
    duration_us: int


class ProbeMeasured(Event, frozen=True, kw_only=True, tag="probe.measured"):
    """Memory of the request's keys and values once the token at `position` has been read."""

    position: int
    num_layers: int
    num_heads: int
    """Query heads."""
    num_kv_heads: int
    """Key/value heads, which the query heads share in equal groups."""
    head_dim: int
    bytes_per_value: int
    block_size: int
    """Tokens per block."""
    num_blocks: int
    """Blocks that hold position + 1 tokens."""
    num_bytes: int
    """Bytes that these blocks take over all layers, keys and values."""
    num_bytes_ungrouped: int
    """Bytes that the blocks would take if every query head had key/value heads of its own."""


AnyProbe = ProbeAttended | ProbeSummed | ProbeLensed | ProbeCompared | ProbeMeasured
