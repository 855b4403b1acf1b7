"""What the heartbeats of a model's workers tell a check. Knows nothing of rows."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.requests.workers import drained, heartbeats_of


@dataclass(frozen=True)
class Workers:
    """The workers of one model, without those that an operator drains."""

    is_ready: bool
    """One has loaded the model, with the tokenizer that the site reads."""
    is_loading: bool
    has_other_tokenizer: bool
    failure: str
    """A worker's own message where all of them failed; else empty."""


def workers_of(model: str, tokenizer_version: str) -> Workers:
    """Raises RedisError."""
    left = drained()
    found = [each for name, each in heartbeats_of(model).items() if name not in left]
    ready = [each for each in found if each.state == "ready"]
    failed = [each.message for each in found if each.state == "failed"]
    return Workers(
        is_ready=any(each.tokenizer == tokenizer_version for each in ready),
        is_loading=any(each.state == "loading" for each in found),
        has_other_tokenizer=any(each.tokenizer != tokenizer_version for each in ready),
        failure=failed[0] if failed and len(failed) == len(found) else "",
    )
