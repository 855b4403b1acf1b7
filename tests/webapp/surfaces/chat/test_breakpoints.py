"""A chat marks what its next message begins with: the system prompt, and the history."""

from __future__ import annotations

from webapp.ground.context.assemble import SourceMessage
from webapp.surfaces.chat.sending import kept


def messages(*roles: str) -> tuple[SourceMessage, ...]:
    return tuple(
        SourceMessage(role, "text", f"message:{at}", "system" if role == "system" else "history")
        for at, role in enumerate(roles)
    )


def marked(*roles: str) -> list[int]:
    return [at for at, each in enumerate(kept(messages(*roles))) if each.breakpoint == "5m"]


def test_the_system_prompt_and_the_end_of_the_history_are_marked() -> None:
    assert marked("system", "user") == [0]
    assert marked("system", "user", "assistant", "user") == [0, 2]
    assert marked("user", "assistant", "user") == [1]


def test_a_first_message_alone_has_nothing_to_mark() -> None:
    assert marked("user") == [] == marked()
