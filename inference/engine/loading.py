"""Loads a model and makes the engine that serves it, on the CPU or on a GPU. Knows nothing of steps."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inference.engine.drafting.draft_model import DraftModel
from inference.engine.engine import Engine
from inference.engine.model_runner import ModelRunner
from inference.engine.record import PieceSource
from inference.engine.scheduling.block_manager import DEFAULT_KV_BYTES
from inference.engine.scheduling.scheduler import DEVICE_LIMITS
from inference.kernels.library import Kernels
from inference.models.decoder import Decoder, load_decoder
from inference.models.sources.source import ModelFileError, ModelSource, open_model
from inference.models.weights.packed_cache import PackedCache
from inference.sampling import vocabulary
from inference.sampling.native_vocabulary import native_summarise
from inference.sampling.vocabulary import Summarise

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


def load_engine(
    path: Path,
    num_threads: int,
    pieces: PieceSource,
    on_progress: Callable[[float], None] = lambda _share: None,
    cache: PackedCache | None = None,
    kernels: Kernels | None = None,
    kv_bytes: int = DEFAULT_KV_BYTES,
    has_drafts: bool = True,
    draft_path: Path | None = None,
    is_bitwise: bool = False,
    cuda: torch.device | None = None,
    on_torch: Callable[[str], None] = lambda _reason: None,
) -> Engine:
    """Load a GGUF file or a Hugging Face folder; on_progress hears the share done, 0 to 1. Raises ModelFileError.

    draft_path: a smaller model with the same tokenizer, to guess ahead. is_bitwise: see load_decoder. cuda: the GPU
    that computes; None: the CPU. on_torch: see load_decoder.
    """
    summarise = vocabulary.summarise if kernels is None else native_summarise(kernels)
    if cuda is not None:
        if draft_path:
            logger.warning("the draft model is not used: on a GPU a guess could change the answer")
        return _load_on_device(open_model(path), cuda, pieces, on_progress, kv_bytes, summarise)
    decoder = load_decoder(
        open_model(path),
        on_progress,
        cache,
        kernels,
        num_threads=num_threads,
        is_bitwise=is_bitwise,
        on_torch=on_torch,
    )
    runner = ModelRunner(decoder, kv_bytes)
    draft_model = None
    if draft_path and not runner.is_batch_invariant:
        logger.warning("the draft model is not used: computed by PyTorch, a guess could change the answer")
    elif draft_path:
        smaller = load_decoder(open_model(draft_path), cache=cache, kernels=kernels, num_threads=num_threads)
        _check_vocabulary(draft_path, smaller, path, decoder)
        draft_model = DraftModel(smaller, runner.num_blocks, time.perf_counter_ns)
    return Engine(runner, pieces, summarise=summarise, has_drafts=has_drafts, draft_model=draft_model)


def _check_vocabulary(draft_path: Path, smaller: Decoder[Any], path: Path, decoder: Decoder[Any]) -> None:
    if smaller.config.vocab_size != decoder.config.vocab_size:
        raise ModelFileError(
            f"{draft_path} has embeddings of {smaller.config.vocab_size} tokens, {path} of "
            f"{decoder.config.vocab_size}; a draft model must have as many"
        )


def _load_on_device(
    source: ModelSource,
    device: torch.device,
    pieces: PieceSource,
    on_progress: Callable[[float], None],
    kv_bytes: int,
    summarise: Summarise,
) -> Engine:
    """summarise: for logits that are not on the device."""
    # Imported here: with the kernels nothing needs torch.
    from inference.models.decoders.paged_decoder import load_paged
    from inference.sampling.device_vocabulary import device_summarise

    decoder = load_paged(source, device, on_progress)
    on_device = device_summarise(decoder.on_device, summarise)
    return Engine(ModelRunner(decoder, kv_bytes), pieces, limits=DEVICE_LIMITS, summarise=on_device)
