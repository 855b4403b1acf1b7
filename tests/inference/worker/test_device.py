"""The choice of what computes."""

from __future__ import annotations

import pytest
import torch

from inference.models.device import NoDevice, find_cuda
from inference.worker.settings import read_settings


@pytest.mark.parametrize(("value", "device"), [("", "cpu"), ("cpu", "cpu"), ("cuda", "cuda"), ("auto", "auto")])
def test_the_setting_is_read(monkeypatch: pytest.MonkeyPatch, value: str, device: str) -> None:
    monkeypatch.setenv("SIGHTGLASS_DEVICE", value)
    assert read_settings().device == device


@pytest.mark.parametrize(("value", "is_bitwise"), [("", False), ("0", False), ("1", True)])
def test_the_bitwise_mode_is_a_switch(monkeypatch: pytest.MonkeyPatch, value: str, is_bitwise: bool) -> None:
    monkeypatch.setenv("SIGHTGLASS_BITWISE", value)
    assert read_settings().is_bitwise == is_bitwise
    monkeypatch.setenv("SIGHTGLASS_BITWISE", "yes")
    with pytest.raises(SystemExit, match="use 1 for on"):
        read_settings()


@pytest.mark.parametrize(("value", "form"), [("", "auto"), ("avx2", "avx2"), ("AVX2", "avx2"), ("Torch", "torch")])
def test_the_form_of_the_kernels_is_read_in_any_case(monkeypatch: pytest.MonkeyPatch, value: str, form: str) -> None:
    monkeypatch.setenv("SIGHTGLASS_KERNELS", value)
    assert read_settings().kernels == form


def test_another_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTGLASS_DEVICE", "gpu0")
    with pytest.raises(SystemExit, match="SIGHTGLASS_DEVICE is 'gpu0'; use one of cpu, cuda, auto"):
        read_settings()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_where_there_is_none_is_refused_and_auto_takes_the_cpu() -> None:
    assert find_cuda("cpu") is None
    assert find_cuda("auto") is None
    with pytest.raises(NoDevice, match="set SIGHTGLASS_DEVICE=cpu"):
        find_cuda("cuda")
