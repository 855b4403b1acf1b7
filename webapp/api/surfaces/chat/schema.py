"""The structs of the chat's API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from inference.protocol.events import ClientTiming
from inference.protocol.request import SamplingParams
from webapp.api.content.memory import MemoryNotice
from webapp.ground.gateway.errors import FieldProblem
from webapp.ground.gateway.structs import Body, Query, Result
from webapp.surfaces.chat.message_view import Message
from webapp.surfaces.chat.shown_summary import Summary

WindowPolicy = Literal["keep", "drop", "summarise"]
"""What becomes of old turns for which the window has no room. keep: a message that does not fit is refused. drop: the
oldest turns are left out. summarise: a summary takes their place once an answer leaves little room."""


class NewConversation(Body):
    """The settings of a new conversation. A field that is left out takes its value from the model's entry.

    Tools, memory and speculation that are left out are those of the user's new conversations.
    Without a model the conversation begins with the default.
    `params` are taken as a whole: fields missing in given `params` have the neutral values of SamplingParams.
    """

    model: str | None = None
    system_prompt: str | None = None
    params: SamplingParams | None = None
    n: int = 1
    """Answers to each message."""
    tools: tuple[str, ...] | None = None
    """Names of the server's tools that its answers may call."""
    memory: bool | None = None
    """Its prompts may have memories of the user."""
    speculation: bool | None = None
    """The engine may guess tokens of its answers ahead."""
    window_policy: WindowPolicy = "drop"


class NewChats(Body):
    """The features that the user's new conversations begin with."""

    tools: tuple[str, ...] = ()
    """Names of the server's tools that its answers may call."""
    memory: bool = True
    """Its prompts may have memories of the user."""
    speculation: bool = True
    """The engine may guess tokens of its answers ahead. The tokens are the same without it."""


class ConversationChange(Body):
    """The fields to change; a field that is left out stays."""

    title: str | None = None
    model: str | None = None
    """The model of the next messages."""
    system_prompt: str | None = None
    params: SamplingParams | None = None
    n: int | None = None
    tools: tuple[str, ...] | None = None
    memory: bool | None = None
    speculation: bool | None = None
    window_policy: WindowPolicy | None = None
    leaf_id: str | None = None
    is_pinned: bool | None = None


class Pin(Body):
    """The user's own choice from a file of the conversation, for one message."""

    attachment_id: str
    passages: tuple[int, ...] = ()
    """Numbers of passages that go in, whatever their similarity."""
    is_whole: bool = False
    """All of the file goes in."""


class NewMessage(Body):
    """A message, and the settings of its answers. Without settings the conversation's hold."""

    text: str
    parent_id: str | None = None
    """The answer that the message follows; null: it begins the conversation anew."""
    params: SamplingParams | None = None
    n: int | None = None
    params_each: tuple[SamplingParams, ...] | None = None
    """Each answer's own settings, so that the answers can race; replaces params and n."""
    client: ClientTiming | None = None
    is_stepped: bool = False
    """Each token waits for a command."""
    must_call: bool = False
    """The answer begins with a call of one of the conversation's tools."""
    attachments: tuple[str, ...] = ()
    """Ids of the files that the message carries, at most 8. They stay in the conversation's later prompts."""
    pins: tuple[Pin, ...] = ()
    """Parts of files that go into this message's prompt whatever their similarity."""


class NewFork(Body):
    """The place where the new answer leaves the other: `position`, perhaps with `token_id`, or `text`."""

    position: int | None = None
    """Tokens of the other answer that are kept."""
    token_id: int | None = None
    """The next token; null: it is drawn."""
    text: str | None = None
    """The answer's new beginning."""
    generation: int | None = None
    """The generation in which the place is; null: the answer's last. The ones before are kept with their calls."""
    params: SamplingParams | None = None
    """Null: the other answer's."""
    client: ClientTiming | None = None
    is_stepped: bool = False


class Regeneration(Body):
    """The settings of another answer. Without settings the conversation's hold."""

    params: SamplingParams | None = None
    n: int | None = None
    client: ClientTiming | None = None
    is_stepped: bool = False
    must_call: bool = False


class ConversationQuery(Query):
    """The conversations to list."""

    q: str = ""
    """Words in the title, a question or an answer."""


class ConversationSummary(Result):
    """A conversation in the list."""

    id: str
    title: str
    updated_at: datetime
    """Time of the last message."""
    is_pinned: bool
    is_streaming: bool
    """An answer is being written in it."""


class ConversationList(Result):
    """The user's conversations, pinned ones first, 500 at most, without empty ones."""

    conversations: list[ConversationSummary]


class Conversation(Result):
    """A conversation with all its branches."""

    id: str
    title: str
    model: str
    system_prompt: str
    params: SamplingParams
    n: int
    """Answers to each message."""
    tools: tuple[str, ...]
    """Names of the server's tools that its answers may call."""
    memory: bool
    """Its prompts may have memories of the user."""
    speculation: bool
    """The engine may guess tokens of its answers ahead."""
    window_policy: WindowPolicy
    leaf_id: str
    """The last message of the branch that is shown."""
    created_at: datetime
    updated_at: datetime
    is_pinned: bool
    messages: list[Message]
    summaries: list[Summary]
    """Summaries of its branches' beginnings, oldest first."""


class SettingsNotes(Result):
    """Settings that are accepted although they cannot hold to the letter."""

    notes: tuple[FieldProblem, ...]


class Started(Result):
    """The answers that a call began. Each is a request of its own."""

    assistant_message: Message
    siblings: list[Message]
    """The other answers to the same message."""
    received_unix_us: int
    """Arrival of the call, on the server's clock."""
    responded_unix_us: int


class Sent(Started):
    """A message, and the answers that it began."""

    user_message: Message
    title: str
    """The conversation's title."""
    memory: MemoryNotice | None = None
    """What the message did with the user's memories, or asks. Null: nothing."""


class Compaction(Body):
    """The turns that a summary would cover: all of a branch but the newest."""

    keep: int = 2
    """Turns that stay as they are."""
    leaf_id: str | None = None
    """Last message of the branch; null: of the one that is shown."""


class Summaries(Result):
    """The summaries of a conversation."""

    summaries: list[Summary]
