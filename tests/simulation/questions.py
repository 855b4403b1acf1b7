"""The questions of the simulated users and the answers of the simulated model. Pure."""

from __future__ import annotations

from dataclasses import dataclass

EOS = 2
MODEL = "simulated"
_NUM_IDS = 40
_FIRST_ID = 3


@dataclass(frozen=True)
class Question:
    """What is asked, in so many words that its answer follows from them."""

    salt: int
    num_tokens: int
    """Tokens of the answer before its end of turn."""
    num_prompt_tokens: int = 6
    max_tokens: int = 512
    is_blocked: bool = False

    @property
    def text(self) -> str:
        return f"{self.salt} {self.num_tokens} {self.num_prompt_tokens} {self.max_tokens} {int(self.is_blocked)}"

    @classmethod
    def of(cls, text: str) -> Question:
        salt, num_tokens, num_prompt_tokens, max_tokens, is_blocked = map(int, text.split())
        return cls(salt, num_tokens, num_prompt_tokens, max_tokens, bool(is_blocked))

    @property
    def prompt(self) -> tuple[int, ...]:
        return (self.salt, self.num_tokens, *range(50, 50 + self.num_prompt_tokens - 2))

    @property
    def answer(self) -> tuple[int, ...]:
        """All tokens of the answer, undisturbed."""
        return tuple(token(self.prompt, position) for position in range(self.num_answer_tokens))

    @property
    def num_answer_tokens(self) -> int:
        return min(self.num_tokens + 1, self.max_tokens)


def token(prompt: tuple[int, ...], position: int) -> int:
    """Return the model's token at a position of the answer."""
    salt, num_tokens = prompt[:2]
    return EOS if position >= num_tokens else _FIRST_ID + (salt * 31 + position * 17) % _NUM_IDS


def piece(token_id: int) -> bytes:
    if token_id == EOS:
        return b""
    return b"w%d%s" % (token_id, b". " if token_id % 7 == 0 else b" ")
