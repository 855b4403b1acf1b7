"""Reads how much of a CUDA device's memory is in use. Knows nothing of what uses it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from inference.protocol.snapshot import DeviceMemory

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


def device_memory(cuda: torch.device | None) -> DeviceMemory | None:
    """Return the memory of the device; None: the worker computes on the CPU."""
    if cuda is None:
        return None
    from torch.cuda import mem_get_info  # here: with the kernels, a worker on a CPU needs none of it

    try:
        num_free, num_total = mem_get_info(cuda)
    except (RuntimeError, AssertionError) as error:  # the second where PyTorch is built without CUDA
        logger.debug("the device does not tell its memory: %s", error)
        return DeviceMemory(None, None)
    return DeviceMemory(num_total - num_free, num_total)
