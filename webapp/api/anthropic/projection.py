"""Anthropic's message and its stream as projections of the event log. Pure: events in, structs out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from inference.protocol.events import AnyEvent
from inference.protocol.request import KeptTTL
from inference.protocol.request import Usage as Tokens
from webapp.api.anthropic.events import (
    BlockDelta,
    BlockStart,
    BlockStop,
    CacheCreation,
    DeltaUsage,
    InputDelta,
    Message,
    MessageDelta,
    MessageStart,
    MessageStop,
    OutputDetails,
    Ping,
    Refusal,
    SignatureDelta,
    StopDelta,
    StopReason,
    StreamEvent,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolUseBlock,
    Usage,
)
from webapp.api.anthropic.partial import value_so_far
from webapp.surfaces.calls.answer import (
    BLOCKED,
    AnswerReader,
    Arguments,
    Begun,
    CacheKnown,
    CacheWritten,
    CallBegun,
    Ended,
    Failed,
    Step,
    Text,
    Thought,
    ThoughtOver,
    Withheld,
)


@dataclass
class MessageProjection:
    """One message, event by event."""

    id: str
    model: str
    call_id: str
    """Prefix of its calls' ids."""
    sign: Callable[[str], str]
    """Returns the signature of a block of thinking."""
    is_omitted: bool = False
    """True: the text of the thinking is left out."""
    reader: AnswerReader = field(default_factory=AnswerReader)
    failed: Failed | None = None
    """There is no message, or only a part of it."""
    has_started: bool = False
    _num_prompt_tokens: int = 0
    _num_cached: int | None = None
    """None: not known yet, or a server elsewhere does not tell it."""
    _is_read_again: bool = False
    _written: Counter[KeptTTL] = field(default_factory=Counter)
    _num_blocks: int = 0
    _open: ThinkingBlock | TextBlock | ToolUseBlock | None = None
    _thought: str = ""
    _withheld: str | None = None

    def feed(self, events: Iterable[AnyEvent]) -> list[StreamEvent]:
        """Return the events of the stream that these events make."""
        return [made for step in self.reader.feed(events) for made in self._made(step)]

    def _made(self, step: Step) -> Iterator[StreamEvent]:
        match step:
            case Begun(num_prompt_tokens=num):
                self._num_prompt_tokens = num
            case CacheKnown(num_cached_tokens=num, has_breakpoints=is_to_be_written):
                # After a preemption the prompt is looked up again. What is written then counts no second time.
                self._is_read_again = self._num_cached is not None
                if not self._is_read_again:
                    self._num_cached = num
                if not is_to_be_written:
                    yield from self._start()
            case CacheWritten(ttl=ttl, num_tokens=num) if not self._is_read_again:
                self._written[ttl] += num
            case Thought(text=text):
                yield from self._think(text)
            case ThoughtOver():
                yield from self._close()
            case Text(text=text) if text:
                yield from self._text(text)
            case CallBegun(index=index, name=name):
                yield from self._begin(ToolUseBlock(f"{self.call_id}_{index}", name, {}))
                yield self._delta(InputDelta(""))
            case Arguments(text=text):
                yield self._delta(InputDelta(text))
            case Withheld(message=message):
                self._withheld = message
            case Ended():
                yield from self._end(step)
            case Failed(code="blocked", message=message):
                self._num_cached = 0
                yield from self._start(num_output=0)
                yield from self._end(BLOCKED, message)
            case Failed():
                self.failed = step

    def _start(self, num_output: int = 1) -> Iterator[StreamEvent]:
        """The first event. It tells what was written to the cache, so that it waits for the end of the prompt there."""
        if self.has_started:
            return
        self.has_started = True
        read, for_5m, for_1h = self._num_cached or 0, self._written["5m"], self._written["1h"]
        tokens = Tokens(
            uncached_input=self._num_prompt_tokens - read - for_5m - for_1h,
            cache_read=read,
            cache_write_5m=for_5m,
            cache_write_1h=for_1h,
            output=num_output,
        )
        usage = usage_of(tokens, is_cache_known=self._num_cached is not None)
        yield MessageStart(Message(self.id, self.model, usage, []))

    def _text(self, text: str) -> Iterator[StreamEvent]:
        if not isinstance(self._open, TextBlock):
            yield from self._begin(TextBlock())
        yield self._delta(TextDelta(text))

    def _think(self, text: str) -> Iterator[StreamEvent]:
        if not isinstance(self._open, ThinkingBlock):
            yield from self._begin(ThinkingBlock())
        if not self.is_omitted:
            self._thought += text
            yield self._delta(ThinkingDelta(text))

    def _begin(self, block: ThinkingBlock | TextBlock | ToolUseBlock) -> Iterator[StreamEvent]:
        yield from self._start()
        yield from self._close()
        yield BlockStart(self._num_blocks, block)
        if self._num_blocks == 0:
            yield Ping()
        self._open = block
        self._num_blocks += 1

    def _delta(self, delta: ThinkingDelta | SignatureDelta | TextDelta | InputDelta) -> StreamEvent:
        return BlockDelta(self._num_blocks - 1, delta)

    def _close(self) -> Iterator[StreamEvent]:
        if isinstance(self._open, ThinkingBlock):
            yield self._delta(SignatureDelta(self.sign(self._thought)))
        if self._open is not None:
            yield BlockStop(self._num_blocks - 1)
        self._open = None

    def _end(self, ended: Ended, message: str | None = None) -> Iterator[StreamEvent]:
        """A stream has at least one block, which may be empty."""
        if self._num_blocks == 0:
            yield from self._begin(TextBlock())
        yield from self._close()
        usage = usage_of(ended.usage, ended.is_cache_known, ended.num_thinking_tokens)
        total = DeltaUsage(
            usage.output_tokens,
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
            usage.output_tokens_details,
        )
        yield MessageDelta(stop_of(ended, message or self._withheld), total)
        yield MessageStop()


def stop_of(ended: Ended, withheld: str | None) -> StopDelta:
    """Return Anthropic's words for the end. An answer that a person stopped, or that repeats itself, ends its turn."""
    reason = _reason(ended)
    return StopDelta(reason, ended.stop_text, Refusal(withheld) if reason == "refusal" else None)


def _reason(ended: Ended) -> StopReason:
    if ended.finish_reason == "content_filter":
        return "refusal"
    if ended.finish_reason == "length":
        return "model_context_window_exceeded" if ended.is_window_full else "max_tokens"
    if ended.stop_text is not None:
        return "stop_sequence"
    return "tool_use" if ended.has_calls else "end_turn"


def usage_of(tokens: Tokens, is_cache_known: bool, num_thinking: int = 0) -> Usage:
    """Return the usage. Figures of the cache are left out where they are not known, and a thinking that was none."""
    usage = Usage(tokens.uncached_input, tokens.output)
    if num_thinking:
        usage.output_tokens_details = OutputDetails(num_thinking)
    if is_cache_known:
        usage.cache_creation = CacheCreation(tokens.cache_write_5m, tokens.cache_write_1h)
        usage.cache_creation_input_tokens = tokens.cache_write_5m + tokens.cache_write_1h
        usage.cache_read_input_tokens = tokens.cache_read
    return usage


def message_of(projection: MessageProjection, events: Iterable[AnyEvent]) -> Message | None:
    """Return the whole message: its stream, put together. None: it failed."""
    message: Message | None = None
    inputs: dict[int, str] = {}
    for event in projection.feed(events):
        if isinstance(event, MessageStart):
            message = event.message
        elif message is not None:
            _add(message, inputs, event)
    if projection.failed or message is None:
        return None
    for index, text in inputs.items():
        block = message.content[index]
        assert isinstance(block, ToolUseBlock)
        block.input = value_so_far(text)
    message.content = [block for block in message.content if not (isinstance(block, TextBlock) and not block.text)]
    return message


def _add(message: Message, inputs: dict[int, str], event: StreamEvent) -> None:
    match event:
        case BlockStart(content_block=block):
            message.content.append(block)
        case BlockDelta(index=index, delta=InputDelta(partial_json=text)):
            inputs[index] = inputs.get(index, "") + text
        case BlockDelta(index=index, delta=ThinkingDelta(thinking=text)):
            block = message.content[index]
            assert isinstance(block, ThinkingBlock)
            block.thinking += text
        case BlockDelta(index=index, delta=SignatureDelta(signature=signature)):
            block = message.content[index]
            assert isinstance(block, ThinkingBlock)
            block.signature = signature
        case BlockDelta(index=index, delta=TextDelta(text=text)):
            block = message.content[index]
            assert isinstance(block, TextBlock)
            block.text += text
        case MessageDelta(delta=delta, usage=usage):
            message.stop_reason, message.stop_sequence = delta.stop_reason, delta.stop_sequence
            message.stop_details = delta.stop_details
            for name in msgspec.structs.asdict(usage):
                setattr(message.usage, name, getattr(usage, name))
