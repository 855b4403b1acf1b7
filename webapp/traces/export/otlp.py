"""Sends traces and other messages to the operator's OTLP/HTTP endpoint (opentelemetry.io/docs/specs/otlp, protobuf).

The address is a setting, and no user's input becomes part of it.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from inference.protocol.events import Frame
from webapp.environment import OtlpEndpoint
from webapp.ground.gateway.certificates import authorities
from webapp.traces.export.otel import to_otlp

logger = logging.getLogger(__name__)
# httpx logs each address at INFO, and the endpoint's may hold a password.
logging.getLogger("httpx").setLevel(logging.WARNING)

_TRY_AGAIN = (429, 502, 503, 504)
"""Status codes to retry, by the specification; all other errors are permanent."""
_IDS = ("traceId", "spanId", "parentSpanId")
_MAX_SAID = 200


class OtlpError(Exception):
    """The endpoint did not take the message; the message gives the operator the reason.

    said: the message for other users, without the endpoint's own words.
    """

    def __init__(self, said: str, words: str = "") -> None:
        super().__init__(f"{said}: {words}" if words else said)
        self.said = said


class Unavailable(OtlpError):
    """The endpoint may take the message later."""

    def __init__(self, said: str, words: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(said, words)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class Spans:
    """A trace's spans, ready to be sent."""

    message: bytes
    num: int


def spans_of(endpoint: OtlpEndpoint, frames: Sequence[Frame], conversation: str | None = None) -> Spans:
    """Make the spans of a trace for this endpoint. Raises TraceFileError as to_otlp does."""
    message = to_protobuf(to_otlp(frames, endpoint.has_texts, conversation))
    num = sum(len(scope.spans) for resource in message.resource_spans for scope in resource.scope_spans)
    return Spans(message.SerializeToString(), num)


async def send(endpoint: OtlpEndpoint, spans: Spans, timeout_s: float) -> None:
    """Send the spans. Raises Unavailable, OtlpError."""
    _check_all_taken(await post(endpoint.url, endpoint.headers, spans.message, timeout_s))


async def post(url: str, headers: Mapping[str, str], message: bytes, timeout_s: float) -> bytes:
    """Post a protobuf message and return the answer's body. Raises Unavailable, OtlpError."""
    sent = {**headers, "Content-Type": "application/x-protobuf"}
    try:
        async with httpx.AsyncClient(timeout=timeout_s, verify=authorities(trust_env=True)) as client:
            answer = await client.post(url, content=message, headers=sent)
    except httpx.HTTPError as error:
        raise Unavailable("The OTLP endpoint cannot be reached", f"{type(error).__name__} {error}") from error
    if answer.status_code in _TRY_AGAIN:
        after = answer.headers.get("Retry-After", "")
        raise Unavailable(*_said(answer), float(after) if after.isascii() and after.isdigit() else None)
    if not answer.is_success:
        raise OtlpError(*_said(answer))
    return answer.content


def to_protobuf(otlp_json: bytes) -> ExportTraceServiceRequest:
    """Convert the message. OTLP's JSON has ids in hexadecimal, where protobuf's own JSON has base64."""
    message = ExportTraceServiceRequest()
    ParseDict(json.loads(otlp_json, object_hook=_with_base64_ids), message)
    return message


def _with_base64_ids(part: dict[str, Any]) -> dict[str, Any]:
    ids = {name: base64.b64encode(bytes.fromhex(part[name])).decode() for name in _IDS if name in part}
    return part | ids


def _said(answer: httpx.Response) -> tuple[str, str]:
    return f"The OTLP endpoint answered {answer.status_code}", answer.text[:_MAX_SAID]


def _check_all_taken(answer: bytes) -> None:
    """Check for a partial success: rejected spans must not be sent again."""
    try:
        partial = ExportTraceServiceResponse.FromString(answer).partial_success
    except DecodeError:
        return  # an unknown form of success
    if partial.rejected_spans or partial.error_message:
        said = f"The OTLP endpoint rejected {partial.rejected_spans} spans"
        error = OtlpError(said, partial.error_message[:_MAX_SAID])
        if partial.rejected_spans:
            raise error
        logger.warning("%s", error)
