"""The same frames over a WebSocket, with acknowledgements. Knows nothing of the events' meaning."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from typing import Any
from urllib.parse import parse_qs

import msgspec
from channels.generic.websocket import AsyncWebsocketConsumer
from redis.exceptions import RedisError

from webapp.lifecycle.models import Request
from webapp.stream.frames import Unreadable, find_request, frames
from webapp.stream.hub import Overflow

logger = logging.getLogger(__name__)

MAX_UNACKED_BYTES = 1 << 20
_NOT_FOUND = 4404
_RESUME = 4008
_BAD_REQUEST = 4400
_UNREADABLE = 4500
_INTERNAL_ERROR = 1011


class Ack(msgspec.Struct, forbid_unknown_fields=True):
    """The reader has handled every event up to this one."""

    ack: int


class EventsConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """WS /requests/<id>/events?after=<seq>; the client acknowledges with {"ack": seq}."""

    async def connect(self) -> None:
        await self.accept()
        self._sender: asyncio.Task[None] | None = None
        self._unacked: deque[tuple[int, int]] = deque()
        self._num_unacked_bytes = 0
        request = await find_request(self.scope["user"].pk, self.scope["url_route"]["kwargs"]["request_id"])
        after = parse_qs(self.scope["query_string"].decode()).get("after", ["0"])[0]
        if request is None:
            await self.close(code=_NOT_FOUND, reason="There is no such request.")
        elif not after.isascii() or not after.isdigit() or len(after) > 15:
            await self.close(code=_BAD_REQUEST, reason="after must be a whole number.")
        else:
            self._sender = asyncio.create_task(self._send_all(request, int(after)))

    async def _send_all(self, request: Request, after: int) -> None:
        source = frames(request, after)
        try:
            async for frame in source:
                await self.send(text_data=frame.json.decode())
                after = frame.last_seq
                self._unacked.append((frame.last_seq, len(frame.json)))
                self._num_unacked_bytes += len(frame.json)
                if self._num_unacked_bytes > MAX_UNACKED_BYTES:
                    raise Overflow
            await self.send(text_data='{"end": true}')
            await self.close()
        except Overflow:
            await self.send(text_data=json.dumps({"resume": after}))
            await self.close(code=_RESUME, reason="The reader did not keep up.")
        except Unreadable as error:
            # Daphne sends no reason with the code.
            await self.send(text_data=json.dumps({"error": {"code": "trace_unreadable", "message": str(error)}}))
            await self.close(code=_UNREADABLE, reason=str(error))
        except RedisError as error:
            logger.warning("the log of %s cannot be read: %s", request.pk, error)
            await self.close(code=_INTERNAL_ERROR, reason="The log cannot be read. Connect again.")
        finally:
            await source.aclose()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            ack = msgspec.json.decode(text_data or "", type=Ack).ack
        except (msgspec.DecodeError, RecursionError):
            await self.close(code=_BAD_REQUEST, reason='Send {"ack": <seq>} and nothing else.')
            return
        while self._unacked and self._unacked[0][0] <= ack:
            self._num_unacked_bytes -= self._unacked.popleft()[1]

    async def disconnect(self, _code: Any) -> None:
        if self._sender is not None:
            self._sender.cancel()
