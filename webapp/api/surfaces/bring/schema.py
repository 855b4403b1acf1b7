"""What the operations on brought requests read and answer."""

from __future__ import annotations

from typing import Literal

from inference.protocol.request import KeptTTL, Usage
from webapp.api.surfaces.learn import KindPrices
from webapp.ground.gateway.structs import Body, Result
from webapp.surfaces.bring.answer import BroughtCall, ToldTokens
from webapp.surfaces.bring.kinds import Kind
from webapp.surfaces.bring.prefix import BroughtPrefix

What = Literal["template", "system", "tools", "message", "tool call", "tool result", "new message", "text"]


class BroughtText(Body):
    """A text that a person brings."""

    text: str
    """A request's body, an answer's body, or a recorded event stream."""
    kind: Kind | None = None
    """The API of a request's body; null: its shape decides."""
    model: str | None = None
    """The model here that reads it; null: the one that the body names, or else the default."""


class BroughtPair(BroughtText):
    """A text, and the body of the turn before it."""

    before: str | None = None
    before_kind: Kind | None = None


class BroughtPart(Result):
    """A stretch of the prompt with one origin."""

    what: What
    role: str
    place: str
    """Its place in the body, such as `messages[2]`; empty: the model's template writes it."""
    start: int
    """First token, as an index into the prompt."""
    end: int
    """One past the last token."""
    text: str
    """Its beginning, 2,000 characters at most."""
    num_chars: int
    breakpoint: KeptTTL | None


class BroughtChange(Result):
    """A part that was another one before."""

    index: int
    num_tokens: int
    text: str


class BroughtRemoval(Result):
    """A part of the turn before that is gone."""

    place: str
    num_tokens: int
    text: str


class BroughtDifference(Result):
    """The difference of a prompt from the one before it."""

    num_before: int
    """Tokens of the prompt before."""
    num_common: int
    """Tokens that both begin with."""
    num_reusable: int | None
    """The same in whole blocks; null: the size of a block is not known."""
    usage: Usage | None
    """The prompt's tokens by kind while the one before is still in the cache; null in the same case."""
    part: int | None
    """Index of the part with the first token that differs; null: the prompt is a beginning of the one before."""
    here: str
    """The first tokens that differ, as text."""
    there: str
    is_number: bool
    """Both sides go on with a digit, as in a date."""
    added: list[int]
    """Indices of the new parts."""
    changed: list[BroughtChange]
    removed: list[BroughtRemoval]


class BroughtProblem(Result):
    """Why the model here would refuse the body."""

    message: str
    field: str | None


class BroughtBody(Result):
    """A request's body, taken apart."""

    kind: Kind
    is_certain: bool
    """False: a body of this shape may be of the other family too."""
    named_model: str
    model: str
    """The model here, by whose template and tokenizer it is read."""
    num_tokens: int
    window: int
    parts: list[BroughtPart]
    """The first 1,000."""
    num_parts: int
    num_prompts: int
    """Prompts of the body; the first is taken apart."""
    prefix: BroughtPrefix | None
    """Null: no worker of the model runs, or its server does not tell of blocks."""
    num_cached: int | None
    """Tokens of it in the cache at this moment, from your own requests; null: not known."""
    difference: BroughtDifference | None
    """Null: no body before it was given, or it cannot be read by this model."""
    problem: BroughtProblem | None
    """Null: the model here takes it."""


class BroughtChoice(Result):
    """One of the answers."""

    index: int
    text: str
    """Its beginning, 20,000 characters at most."""
    num_chars: int
    num_tokens: int
    """Tokens of the text by the model here."""
    calls: list[BroughtCall]
    stop_reason: str | None


class BroughtAnswer(Result):
    """An answer, whole or put together from its events."""

    kind: Kind
    is_stream: bool
    named_model: str | None
    model: str
    """The model here, by whose tokenizer its tokens are counted."""
    choices: list[BroughtChoice]
    told: ToldTokens
    is_cut: bool
    """The stream breaks off."""
    error: str | None
    left_out: list[str]
    """Kinds of parts that are not shown."""


class TakenApart(Result):
    """What a brought text is. One of the two is there."""

    body: BroughtBody | None = None
    answer: BroughtAnswer | None = None


class PriceTable(Result):
    """Today's prices of a model."""

    model: str
    name: str
    currency: str
    version: str
    unit_nano: KindPrices


class PriceTables(Result):
    """The price tables that a user may choose."""

    tables: list[PriceTable]


class BroughtSent(Result):
    """The requests that a brought body began, the first answer's first."""

    requests: list[str]
