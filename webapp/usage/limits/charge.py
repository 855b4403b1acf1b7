"""What a request may use at most, known before it begins: for its rates an estimate, for budgets the highest cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

import msgspec
from django.utils import timezone

from inference.protocol.request import SamplingParams, Usage
from webapp.models.billing.bill import prices_in_force
from webapp.models.billing.price_book import PriceSet
from webapp.requests import services
from webapp.requests.input import ForkInput, SavedInput, features_of, has_pictures
from webapp.requests.models import Request
from webapp.requests.rounds import MAX_ROUNDS, tools_of
from webapp.usage.limits.rates import Bucket, Kind
from webapp.usage.limits.refusal import Work

_BYTES_PER_TOKEN = 4
"""Of English text. The estimate is corrected when the request settles."""
_TEMPLATE_TOKENS = 512
"""More than a chat template adds to a prompt."""
_MESSAGE_TOKENS = 16
"""More than it adds to one message."""


@dataclass(frozen=True)
class Charge:
    """The tokens of one request."""

    input_tokens: int
    """Estimated."""
    most_input: int
    """No prompt of it is longer."""
    most_output: int
    is_batch: bool = False
    """The request answers a line of a batch, at a lower price."""
    work: Work = "answers"

    def amount(self, bucket: Bucket, num_requests: int) -> int:
        """What the request takes from a bucket. Output that no bucket holds is reserved as far as it fits."""
        match bucket.kind:
            case "requests":
                return 1
            case "input_tokens":
                return self.input_tokens
        return min(self.most_output, max(1, bucket.limit // num_requests))

    def most_nano(self, prices: PriceSet) -> int:
        """Its highest cost."""
        prices = prices.for_batches() if self.is_batch else prices
        dearest = max(nano for kind, nano in prices.unit_nano.items() if kind != "output")
        return self.most_input * dearest + self.most_output * prices.unit_nano["output"]


NOTHING = Charge(0, 0, 0)
"""The charge of a request whose tokens are not known yet."""


def charges_of(requests: Sequence[Request], params: Sequence[SamplingParams]) -> list[Charge]:
    """Return what each request may use. All are of one model."""
    found = services.loaded_or_none(requests[0].model)
    window = None if found is None else found.window
    return [_charge_of(request, each, window) for request, each in zip(requests, params, strict=True)]


def prices_now(model: str) -> PriceSet | None:
    """The model's prices by the day of UTC. None: it costs nothing."""
    return prices_in_force(model, timezone.now().astimezone(UTC).date())


def used_of(usage: Usage, kind: Kind) -> int:
    """What a settled request used of a rate. Tokens that the prefix cache held do not count."""
    match kind:
        case "requests":
            return 1
        case "input_tokens":
            return usage.uncached_input + usage.cache_write_5m + usage.cache_write_1h
    return usage.output


def usage_of(request: Request) -> Usage:
    """The usage that a settled request's row has."""
    return msgspec.convert(request.usage, Usage) if request.usage else Usage()


def _charge_of(request: Request, params: SamplingParams, window: int | None) -> Charge:
    source = request.input
    if isinstance(source, SavedInput):
        exact = len(source.prompt.ids) + (len(source.forked.ids) if source.forked is not None else 0)
        if tools_of(source.features):
            most = MAX_ROUNDS * (exact + params.max_tokens if window is None else window)
            return Charge(exact, most, _within(params.max_tokens, window))
        most = window if window is not None and has_pictures(source) else exact
        return Charge(exact, most, _within(params.max_tokens, window))
    kept = len(source.ids) if isinstance(source, ForkInput) else 0
    num_bytes = sum(len(message.content.encode(errors="replace")) for message in source.messages) + kept
    num_messages = len(source.messages)
    estimate = num_bytes // _BYTES_PER_TOKEN + _MESSAGE_TOKENS // 2 * num_messages + 1
    most = num_bytes + _TEMPLATE_TOKENS + _MESSAGE_TOKENS * num_messages
    has_results = request.forked_from is not None and request.forked_from.rounds  # of its parent's tools
    if window is not None and (has_results or has_pictures(source)):
        most = window
    is_batch = request.batch_id is not None
    if tools_of(features_of(source)):  # each round reads its whole prompt
        most = MAX_ROUNDS * (most + params.max_tokens if window is None else window)
        return Charge(_within(estimate, window), most, _within(params.max_tokens, window), is_batch)
    return Charge(_within(estimate, window), _within(most, window), _within(params.max_tokens, window), is_batch)


def _within(num: int, window: int | None) -> int:
    return num if window is None else min(num, window)
