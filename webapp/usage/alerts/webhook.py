"""Posts one alert to a webhook, signed as the Standard Webhooks specification says. Knows nothing of rules.

See https://www.standardwebhooks.com. A receiver takes `webhook-id` once: each attempt of an alert has the same.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import secrets
import time
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec

from webapp.ground.gateway.certificates import authorities
from webapp.usage.alerts.target import Target

# httpx logs each address at INFO, and a webhook's may hold a password.
logging.getLogger("httpx").setLevel(logging.WARNING)
_TIMEOUT = httpx.Timeout(5.0)
LONGEST_S = 10.0
"""A whole attempt: a receiver that drips its answer holds the sender no longer."""
_MAX_ANSWER = 2048
_PREFIX = "whsec_"


@dataclass(frozen=True)
class Answer:
    """What became of one attempt."""

    is_taken: bool
    text: str
    """In one line, without any secret."""
    may_retry: bool = True


def new_secret() -> str:
    """Return a key for signatures."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of `webhook-signature`."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


async def post(
    target: Target, secret: str, message_id: str, content: dict[str, Any], longest_s: float = LONGEST_S
) -> Answer:
    """Send the alert. Redirects are not followed."""
    body, timestamp = msgspec.json.encode(content), int(time.time())
    headers = {
        "content-type": "application/json",
        "user-agent": "sightglass",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, message_id, timestamp, body),
    }
    return await _post(target, headers, body, longest_s)


async def _post(target: Target, headers: dict[str, str], body: bytes, longest_s: float) -> Answer:
    url = httpx.URL(target.url)
    # The connection goes to the checked address. Certificate and Host are those of the name.
    pinned = url.copy_with(host=target.ip)
    named = {**headers, "host": url.netloc.decode("ascii")}
    extensions = {"sni_hostname": target.host}
    judged = None
    try:
        async with (
            asyncio.timeout(longest_s),
            httpx.AsyncClient(
                timeout=_TIMEOUT, follow_redirects=False, trust_env=False, verify=authorities(trust_env=False)
            ) as client,
            client.stream("POST", pinned, content=body, headers=named, extensions=extensions) as answer,
        ):
            judged = _judged(answer.status_code)
            await _skip(answer)
    except (TimeoutError, httpx.HTTPError) as error:
        # The status decides, whatever becomes of the rest of the answer.
        return judged or _missed(error)
    return judged


async def _skip(answer: httpx.Response) -> None:
    """Read a little of the answer's body, so that the receiver can finish it."""
    num = 0
    async for chunk in answer.aiter_raw():
        num += len(chunk)
        if num > _MAX_ANSWER:
            return


def _missed(error: Exception) -> Answer:
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return Answer(False, "The receiver did not answer in time.")
    # An error's text can name the address.
    return Answer(False, f"The receiver could not be reached ({type(error).__name__}).")


def _judged(status: int) -> Answer:
    if 200 <= status < 300:
        return Answer(True, f"HTTP {status}")
    if 300 <= status < 400:
        return Answer(False, f"HTTP {status}: a redirect, which is not followed.", may_retry=False)
    # 410 says that the receiver is gone for good.
    return Answer(False, f"HTTP {status}", may_retry=status != 410)
