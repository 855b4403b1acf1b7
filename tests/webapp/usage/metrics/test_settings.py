"""The token of /metrics, and the address to which metrics are pushed."""

from __future__ import annotations

import pytest

from webapp.environment import OtlpEndpoint, read_environment


@pytest.mark.parametrize("token", ["short", "0123456789abcde", "with a space in the middle", "ünïcödé-ünïcödé-ünï"])
def test_a_weak_or_unusable_token_ends_the_process_without_naming_it(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTGLASS_METRICS_TOKEN", token)
    with pytest.raises(SystemExit) as ended:
        read_environment()
    assert "SIGHTGLASS_METRICS_TOKEN needs at least 16 visible ASCII characters" in str(ended.value)
    assert token not in str(ended.value)


def test_a_token_is_kept_out_of_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTGLASS_METRICS_TOKEN", "")
    assert read_environment().metrics_token is None
    monkeypatch.setenv("SIGHTGLASS_METRICS_TOKEN", "0123456789abcdef")
    assert read_environment().metrics_token == "0123456789abcdef"
    assert "0123456789abcdef" not in repr(read_environment())


@pytest.mark.parametrize("path", ["", "/otlp"])
def test_metrics_go_beside_the_traces(path: str) -> None:
    endpoint = OtlpEndpoint(f"http://localhost:4318{path}/v1/traces", {}, False)
    assert endpoint.metrics_url == f"http://localhost:4318{path}/v1/metrics"
