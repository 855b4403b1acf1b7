"""The saved prompt of a plain text is compared without the chat template."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from inference.protocol.events import PromptTokenized
from inference.protocol.request import SamplingParams
from inference.tokenization.chat_template import ChatTemplate
from tests.webapp.registered import CONFIGURED
from webapp.ground.context.assemble import SourceMessage
from webapp.lifecycle.prompt_packing import context_event
from webapp.requests import services
from webapp.surfaces.runs.saved_prompt import PromptCheck, SavedPrompt, check

pytestmark = pytest.mark.django_db


def plain(text: str, ids: tuple[int, ...] = (), is_older: bool = False) -> SavedPrompt:
    """As a completion leaves it. is_older: the tokenizer has changed since."""
    served = services.prompt_services(CONFIGURED)
    assembled = served.assembler.plain(SourceMessage("user", text, "api:prompt", "user"), ids, 16)
    found = assembled.prompt.ids
    prompt = PromptTokenized(
        at=0,
        tokenizer=served.tokenizer.name,
        version="an older one" if is_older else served.tokenizer.version,
        ids=tuple(found),
        pieces=tuple(map(served.tokenizer.label, found)),
        special=tuple(assembled.prompt.special),
        lossy_bytes=0,
        duration_us=0,
    )
    return SavedPrompt(CONFIGURED, SamplingParams(), context_event(assembled, 0, 0), prompt)


def checked(saved: SavedPrompt, monkeypatch: pytest.MonkeyPatch) -> PromptCheck:
    """The template must not be asked."""
    monkeypatch.setattr(ChatTemplate, "render", None)
    return check(saved, services.prompt_services(CONFIGURED))


@pytest.mark.parametrize("is_older", [False, True])
def test_a_plain_text_is_the_same_prompt_now(monkeypatch: pytest.MonkeyPatch, is_older: bool) -> None:
    saved = plain("The capital of France is", is_older=is_older)
    found = checked(saved, monkeypatch)
    assert (found.num_tokens_now, found.first_difference) == (found.num_tokens, None)
    assert found.is_tokenizer_changed is is_older


def test_tokens_that_a_client_chose_are_the_same_prompt_now(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = services.prompt_services(CONFIGURED).tokenizer
    ids = tuple(token for letter in "Paris" for token in tokenizer.encode(letter))
    assert list(ids) != tokenizer.encode("Paris")
    found = checked(plain("Paris", ids), monkeypatch)
    assert (found.num_tokens_now, found.first_difference) == (5, None)


def test_a_chat_is_compared_by_its_template(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = plain("Hi")
    (text,) = [each for each in saved.context.segments if each.kind != "template"]
    around = [replace(text, kind="template", start=0, end=3), text]
    chat = SavedPrompt(saved.model, saved.params, replace(saved.context, segments=tuple(around)), saved.prompt)
    assert saved.is_plain and not chat.is_plain
