"""Events of probes: attention, lens, neighbours, memory. Knows nothing of how a probe is made."""

from __future__ import annotations

from inference.protocol.events.base import Event, Value


class ProbeAttended(Event, frozen=True, kw_only=True, tag="probe.attended"):
    """What one token attended to, per layer and head, in a forward pass made again for it.

    Probes are made on demand, also long after the request ended: they stand beside its log, never in it.
    """

    position: int
    """The token that looks: its index in prompt and answer together."""
    num_layers: int
    num_heads: int
    weights: bytes
    """[num_layers, num_heads, position + 1], one byte each (base64 in JSON): (byte / 255) squared, so that small
    weights are seen; at most 0.004 times the weight's root beside the weight."""
    compute: str
    """In which format the pass was computed."""
    duration_us: int


class LensLayer(Value, frozen=True, kw_only=True):
    """What the residual stream after one layer would say next."""

    ids: tuple[int, ...]
    """The most likely tokens, most likely first."""
    pieces: tuple[bytes, ...]
    """Their bytes (base64 in JSON); a control token's name."""
    probabilities: tuple[float, ...]
    next_probability: float | None
    """Of the token that did come next; None: none has."""
    next_rank: int | None
    """Its rank, from 1."""


class ProbeLensed(Event, frozen=True, kw_only=True, tag="probe.lensed"):
    """The logit lens: final norm and output head applied to the residual stream after each layer."""

    position: int
    """The token after which the model looks ahead: its index in prompt and answer together."""
    next_id: int | None
    """The token that came next."""
    layers: tuple[LensLayer, ...]
    """From the first layer to the last, whose words are the model's own."""
    compute: str
    """In which format the pass was computed."""
    duration_us: int


class Neighbour(Value, frozen=True, kw_only=True):
    """A token whose embedding points in nearly the same direction."""

    id: int
    piece: bytes
    """Its bytes (base64 in JSON); a control token's name."""
    cosine: float
    """Of the angle between the two embeddings, -1 to 1."""


class ProbeCompared(Event, frozen=True, kw_only=True, tag="probe.compared"):
    """A token's embedding was compared with all others of the vocabulary."""

    position: int
    """The token's index in prompt and answer together."""
    id: int
    vocab_size: int
    neighbours: tuple[Neighbour, ...]
    """The nearest first, without the token itself."""
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
    """What these blocks take, over all layers, keys and values."""
    num_bytes_ungrouped: int
    """What they would take with key/value heads of its own for every query head."""


AnyProbe = ProbeAttended | ProbeLensed | ProbeCompared | ProbeMeasured
