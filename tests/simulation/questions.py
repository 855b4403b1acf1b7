"""The questions of the simulated users and the answers of the simulated model. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from inference.protocol.tool_calls import written

EOS = 2
MODEL = "simulated"
_NUM_IDS = 40
_FIRST_ID = 3
_ROUNDS_FROM = 50
"""An id of a prompt from here on says how many rounds with calls are left."""
_CALLS_FROM = 100
"""An id of an answer from here on calls the tools of that round."""
READ, NOTE, WRITE = "read", "note", "write"
"""Tools: one that may be called again, one that may not, and one that may not and needs approval."""


@dataclass(frozen=True)
class Question:
    """What is asked, in so many words that its answer follows from them."""

    salt: int
    num_tokens: int
    """Tokens of the answer before its end of turn."""
    num_prompt_tokens: int = 6
    max_tokens: int = 512
    is_blocked: bool = False
    num_rounds: int = 0
    """Generations that end with calls of tools, before the last."""

    @property
    def text(self) -> str:
        numbers = (self.salt, self.num_tokens, self.num_prompt_tokens, self.max_tokens, self.is_blocked)
        return " ".join(str(int(each)) for each in (*numbers, self.num_rounds))

    @classmethod
    def of(cls, text: str) -> Question:
        salt, num_tokens, num_prompt_tokens, max_tokens, is_blocked, num_rounds = map(int, text.split())
        return cls(salt, num_tokens, num_prompt_tokens, max_tokens, bool(is_blocked), num_rounds)

    @property
    def prompt(self) -> tuple[int, ...]:
        rounds = _ROUNDS_FROM + self.num_rounds
        return (self.salt, self.num_tokens, rounds, *range(80, 80 + self.num_prompt_tokens - 3))

    def after(self, num_rounds: int) -> Question:
        """What is asked in the generation after so many rounds."""
        return replace(self, salt=self.salt + num_rounds, num_rounds=self.num_rounds - num_rounds)

    @property
    def answer(self) -> tuple[int, ...]:
        """All tokens of this generation, undisturbed."""
        return tuple(token(self.prompt, position) for position in range(self.num_answer_tokens))

    @property
    def whole_answer(self) -> tuple[int, ...]:
        """All tokens of all generations, undisturbed."""
        return self.answer + (() if self.is_last else self.after(1).whole_answer)

    @property
    def is_last(self) -> bool:
        """Return whether this generation ends without a whole call."""
        return self.num_rounds == 0 or self.max_tokens < self.num_tokens + 2

    @property
    def num_answer_tokens(self) -> int:
        return min(self.num_tokens + 1 + (self.num_rounds > 0), self.max_tokens)


def next_prompt(prompt: tuple[int, ...]) -> tuple[int, ...]:
    """The prompt of the generation after this one's calls."""
    salt, num_tokens, rounds, *rest = prompt
    return (salt + 1, num_tokens, rounds - 1, *rest)


def token(prompt: tuple[int, ...], position: int) -> int:
    """Return the model's token at a position of the answer."""
    salt, num_tokens, rounds = prompt[:3]
    if rounds > _ROUNDS_FROM and position == num_tokens:
        return _CALLS_FROM + rounds - _ROUNDS_FROM
    return EOS if position >= num_tokens else _FIRST_ID + (salt * 31 + position * 17) % _NUM_IDS


def piece(token_id: int) -> bytes:
    if token_id == EOS:
        return b""
    if token_id >= _CALLS_FROM:
        calls = [written(name, f'{{"round": {token_id - _CALLS_FROM}}}') for name in (READ, NOTE, WRITE)]
        return "".join(calls).encode()
    return b"w%d%s" % (token_id, b". " if token_id % 7 == 0 else b" ")
