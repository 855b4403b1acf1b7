"""The interface of every decoder, whatever computes it: token ids in, logits out. Knows nothing of scheduling."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from inference.kernels.library import Kernels
from inference.models.config import ModelConfig
from inference.models.sources.source import ModelSource
from inference.models.weights.packed_cache import PackedCache

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chunk:
    """New tokens of one sequence."""

    ids: Sequence[int]
    start: int
    """Tokens of this sequence that are in the cache already."""
    block_table: Sequence[int]
    """The block of each BLOCK_SIZE tokens; covers start + len(ids)."""
    num_logits: int = 1
    """Number of last tokens whose logits are wanted (0: the chunk ends inside a prompt)."""
    is_prompt: bool = False
    """True: the client sent all of these tokens; none was generated. The decoder may then use a form that is faster
    for many tokens. It never goes by their number, so that their results depend on nothing else."""

    @property
    def end(self) -> int:
        return self.start + len(self.ids)


class Cache(Protocol):
    """Keys and values in blocks of BLOCK_SIZE tokens, in whatever layout its decoder reads."""

    num_blocks: int

    def copy_block(self, source: int, target: int) -> None:
        """Copy one block in all layers, for a sequence that is about to write to a shared one."""


CacheT = TypeVar("CacheT", bound=Cache)


class Decoder(Protocol[CacheT]):
    """One model's weights and its forward pass; keeps no state between calls but the cache it is given."""

    config: ModelConfig
    compute: str
    """Formats in which it multiplies, for people."""
    device: str
    """The processor, for people: cpu, or the name of a GPU."""
    is_batch_invariant: bool
    """True: a token's logits are the same bit by bit, whatever is computed beside it."""

    def build_cache(self, num_blocks: int) -> CacheT:
        """Return an empty cache. It takes memory as blocks are used where the device allows that, else at once."""

    def forward(self, chunks: list[Chunk], kv: CacheT) -> NDArray[np.float32]:
        """Write every chunk's keys and values to its blocks. Return [sum of num_logits, vocab_size] in chunk order.

        Two chunks may share blocks that they read, never one that they write. The result holds until the next call.
        Raises MemoryError, and RuntimeError of the device's.
        """

    def wait(self) -> None:
        """Wait until the device has done all its work. Raises RuntimeError if it can do no more; a CPU has nothing to
        wait for."""


def load_decoder(
    source: ModelSource,
    on_progress: Callable[[float], None] = lambda _share: None,
    cache: PackedCache | None = None,
    kernels: Kernels | None = None,
    dtype: torch.dtype | None = None,
    num_threads: int | None = None,
    is_bitwise: bool = False,
    on_torch: Callable[[str], None] = lambda _reason: None,
) -> Decoder[Any]:
    """Read all weights, converted or from the cache; on_progress hears the share done, 0 to 1. Raises ModelFileError.

    kernels: used where they can compute the model. dtype: of PyTorch's weights and products; None: compact formats for
    few rows, the fastest dense type for many. num_threads: PyTorch's; None leaves them as they are. is_bitwise: the
    kernels compute a prompt as an answer, so that no result depends on which it was; reading takes longer. on_torch
    hears why the kernels cannot compute the model.
    """
    from inference.models.decoders.native_decoder import NativeDecoder
    from inference.models.weights.native_weights import load_native, obstacle

    if kernels is not None:
        reason = obstacle(source)
        if reason is None:
            with_prompt_form = kernels.has_prompt_form and not is_bitwise
            return NativeDecoder(source.config, load_native(source, on_progress, cache, with_prompt_form), kernels)
        logger.warning("PyTorch computes %s: %s", source.path, reason)
        on_torch(reason)
    # Imported here: it takes a second and 200 MB, and the kernels need none of it.
    import torch

    from inference.models.decoders.torch_decoder import TorchDecoder
    from inference.models.weights.torch_weights import load_weights

    if num_threads is not None:
        torch.set_num_threads(num_threads)
    return TorchDecoder(source.config, load_weights(source, on_progress, cache, dtype))
