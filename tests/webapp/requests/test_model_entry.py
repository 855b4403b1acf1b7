"""An unknown model gets neutral settings, and a remote server gets only settings that it supports."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from inference.backends.parameters import Kind, problem
from inference.protocol.request import GenerationRequest, SamplingParams
from inference.tokenization.bundled import bundled_model
from webapp.requests.model_entry import entry_of


def test_an_unknown_model_begins_without_penalties_and_without_a_system_prompt(tmp_path: Path) -> None:
    entry = entry_of(tmp_path / "other.gguf", has_server=False)
    off = SamplingParams()
    assert (entry.default_system_prompt, entry.num_params) == ("", None)
    assert entry.default_params.frequency_penalty == off.frequency_penalty == entry.default_params.dry_multiplier == 0


@pytest.mark.parametrize("has_server", [False, True])
def test_the_defaults_of_every_model_may_be_sent(tmp_path: Path, has_server: bool) -> None:
    for path in (bundled_model(), tmp_path):
        assert entry_of(path, has_server).default_params.problems() == []


@pytest.mark.parametrize("kind", Kind)
def test_a_server_elsewhere_can_do_what_is_asked_by_default(kind: Kind) -> None:
    request = GenerationRequest(
        request_id="req_1",
        attempt=1,
        model="smollm2",
        prompt_ids=(1,),
        params=entry_of(bundled_model(), has_server=True).default_params,
        accepted_unix_us=1,
        principal="",
    )
    assert problem(kind, request) is None


@pytest.mark.parametrize("has_server", [False, True])
def test_the_params_are_written_as_they_are_read_again(has_server: bool) -> None:
    """A saved trace is compared with its log byte by byte: a whole number would come back as a fraction."""
    written = msgspec.json.encode(entry_of(bundled_model(), has_server).default_params)
    assert msgspec.json.encode(msgspec.json.decode(written, type=SamplingParams)) == written
