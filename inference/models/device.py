"""Chooses the processor that computes. Knows nothing of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

DeviceChoice = Literal["cpu", "cuda", "auto"]


class NoDevice(Exception):
    """CUDA was asked for and cannot be used; the message says why and what to do."""


def find_cuda(choice: DeviceChoice) -> torch.device | None:
    """Return the CUDA device to compute on; None: the CPU. auto: CUDA where there is a device. Raises NoDevice."""
    if choice == "cpu":
        return None
    import torch  # here: with the kernels, a worker on a CPU needs none of it

    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    if choice == "auto":
        return None
    if torch.version.cuda is None:
        reason = f"PyTorch {torch.__version__} is built without CUDA. Install its CUDA build"
    else:
        reason = f"PyTorch {torch.__version__} finds no CUDA device. Check nvidia-smi and the driver"
    raise NoDevice(f"SIGHTGLASS_DEVICE is cuda, but {reason}, or set SIGHTGLASS_DEVICE=cpu.")


def best_dtype(device: torch.device) -> torch.dtype:
    """Return bfloat16 where the card multiplies it natively, else float16; float32 on a CPU, for tests."""
    import torch

    if device.type == "cpu":
        return torch.float32
    has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if has_bf16 else torch.float16
