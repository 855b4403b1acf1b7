"""One WebSocket on which a page follows any number of its user's requests. Knows nothing of the events' meaning.

A connection per request would cost a handshake and a sign-in just when the request is prepared. HTTP/1.1 browsers
also open six at most.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing
from typing import Annotated, Any

import msgspec
from channels.generic.websocket import AsyncWebsocketConsumer

from inference.eventlog.entry import FRAME_ID, Mark
from webapp.lifecycle.stream.frames import Again, Unreadable, find_request, frames, read
from webapp.lifecycle.stream.hub import Overflow
from webapp.lifecycle.stream.places import Place, TooManyStreams, places
from webapp.lifecycle.stream.session import NOT_SIGNED_IN, session_end, user_of
from webapp.lifecycle.stream.window import ReaderStopped, Window
from webapp.requests.models import Request

logger = logging.getLogger(__name__)

MAX_FOLLOWED = 32
"""Requests that one connection may follow at once; a user has eight open at most."""
_RESUME = 4008
_TOO_MANY = 4429
_BAD_REQUEST = 4400
_FORBIDDEN = 4403
_INTERNAL_ERROR = 1011

_FrameId = Annotated[str, msgspec.Meta(pattern=f"^{FRAME_ID}$")]
_Seq = Annotated[int, msgspec.Meta(ge=0, lt=10**15)]


class Follow(msgspec.Struct, forbid_unknown_fields=True, tag="follow"):
    """Send the frames of a request after the one with this id, marked with a number of the reader's choice."""

    tag: _Seq
    request_id: str
    after: _FrameId | _Seq = 0
    """The id of a frame, or a seq alone."""

    @property
    def mark(self) -> Mark:
        return Mark.parse(str(self.after))


class Unfollow(msgspec.Struct, forbid_unknown_fields=True, tag="unfollow"):
    """Send no more of this request."""

    tag: _Seq


class Ack(msgspec.Struct, forbid_unknown_fields=True, tag="ack"):
    """The number of this connection's messages that have arrived."""

    num_messages: _Seq


_decode = msgspec.json.Decoder(Follow | Unfollow | Ack).decode


class FollowRefused(Exception):
    """The reader may not have the requested frames."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class EventsConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """WS /events: forwards frames of the requests that the page follows."""

    async def connect(self) -> None:
        self._window = Window()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._watch: asyncio.Task[None] | None = None
        self._place: Place | None = None
        if not self.scope["user"].is_authenticated:
            await self.close()  # not accepted: a 403
            return
        await self.accept()
        try:
            self._place = places().take(self.scope["user"].pk)
        except TooManyStreams as error:
            await self.close(code=_TOO_MANY, reason=str(error))
            return
        self._watch = asyncio.create_task(self._end_with_session())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            message = _decode(text_data or "")
        except (msgspec.DecodeError, RecursionError):
            await self.close(code=_BAD_REQUEST, reason="The message must be follow, unfollow or ack.")
            return
        if isinstance(message, Ack):
            self._window.acknowledged(message.num_messages)
        elif isinstance(message, Unfollow):
            if task := self._tasks.get(message.tag):
                task.cancel()
        elif message.tag in self._tasks or len(self._tasks) >= MAX_FOLLOWED:
            reason = f"A tag must be free, and {MAX_FOLLOWED} requests can be followed at once."
            await self.close(code=_BAD_REQUEST, reason=reason)
        else:
            self._tasks[message.tag] = task = asyncio.create_task(self._forward(message))
            task.add_done_callback(lambda _: self._tasks.pop(message.tag))

    async def _end_with_session(self) -> None:
        """Tell each followed request's reader why it ends, then close."""
        try:
            await session_end(self.scope["session"].session_key)
        except Exception:
            logger.exception("a session cannot be looked up")
            await self.close(code=_INTERNAL_ERROR, reason="The session cannot be looked up. Connect again.")
            return
        followed = list(self._tasks.items())
        for tag, task in followed:
            task.cancel()
            await self._send(tag, {"error": {"code": "not_signed_in", "message": NOT_SIGNED_IN}})
        await self.close(code=_FORBIDDEN, reason=NOT_SIGNED_IN)

    async def _forward(self, follow: Follow) -> None:
        """Send all frames of one request, then its end."""
        try:
            end = await self._send_frames(follow)
            await self._window.wait_for_room()
            await self._send(follow.tag, end)
        except Overflow:
            await self._send(follow.tag, {"resume": follow.after})
        except ReaderStopped:
            await self._send(follow.tag, {"resume": follow.after})
            await self.close(code=_RESUME, reason="The client did not read fast enough.")
        except Exception:
            logger.exception("%s cannot be sent", follow.request_id)
            await self.close(code=_INTERNAL_ERROR, reason="The log cannot be read. Connect again.")

    async def _send_frames(self, follow: Follow) -> dict[str, Any]:
        """Send the frames and return the message after the last; `follow.after` is the id of the last one sent.

        Raises Overflow, ReaderStopped.
        """
        session_key = self.scope["session"].session_key
        try:
            request = await read(lambda: _find(session_key, follow.request_id))
            async with aclosing(frames(request, follow.mark)) as source:
                async for frame in source:
                    await self._window.wait_for_room()
                    if isinstance(frame, Again):
                        follow.after = 0
                        await self._send(follow.tag, {"again": True})
                        continue
                    await self._send(follow.tag, frame.json)
                    follow.after = str(frame.mark)
        except FollowRefused as error:
            return {"error": {"code": error.code, "message": str(error)}}
        except Unreadable as error:
            return {"error": {"code": "trace_unreadable", "message": str(error)}}
        return {"end": True}

    async def _send(self, tag: int, content: bytes | dict[str, Any]) -> None:
        """Send a JSON object with its tag."""
        encoded = content if isinstance(content, bytes) else json.dumps(content).encode()
        message = b'{"tag":%d,%s' % (tag, encoded[1:])
        self._window.sent(len(message))
        await self.send(text_data=message.decode())

    async def disconnect(self, _code: Any) -> None:
        if self._place is not None:
            self._place.leave()
        for task in (self._watch, *self._tasks.values()):
            if task is not None:
                task.cancel()


def _find(session_key: str | None, request_id: str) -> Request:
    """A request of the session's user, who must still be signed in. Raises FollowRefused."""
    user = user_of(session_key)
    if user is None:
        raise FollowRefused("not_signed_in", NOT_SIGNED_IN)
    request = find_request(user.pk, request_id)
    if request is None:
        raise FollowRefused("not_found", "There is no such request.")
    return request
