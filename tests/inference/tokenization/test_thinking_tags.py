"""Which models think, and how their prompts end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.protocol.thinking import Thinking
from inference.tokenization.chat_template import ChatMessage, ChatTemplate
from inference.tokenization.gguf_metadata import Metadata
from inference.tokenization.tokenizer import Tokenizer
from inference.tokenization.vocabularies import CONTROL

SWITCHED = """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and '</think>' in m.content %}{{ m.content.split('</think>')[-1] }}{% else %}\
{{ m.content }}{% endif %}<|im_end|>
{% endfor %}<|im_start|>assistant
{% if not enable_thinking %}<think>

</think>

{% endif %}"""
"""As Qwen 3's."""
OPENING = SWITCHED.partition("{% if not enable_thinking")[0] + "<think>\n"
"""As DeepSeek R1's."""
ASKED = ChatMessage("user", "Why?")


def prompt_end(
    metadata: Metadata, source: str, messages: list[ChatMessage], may_think: bool = True
) -> tuple[str, bool]:
    """The end of the prompt, and whether thinking may follow."""
    own = replace(metadata, chat_template=source)
    tokenizer = Tokenizer(own)
    prompt = ChatTemplate(own, tokenizer).render(messages, may_think)
    text = b"".join(map(tokenizer.label, prompt.ids)).decode()
    return text.rpartition("assistant\n")[2], prompt.thinking is not None


def thinking_of(metadata: Metadata, source: str) -> Thinking | None:
    own = replace(metadata, chat_template=source)
    return ChatTemplate(own, Tokenizer(own)).render([ASKED]).thinking


def test_the_bundled_model_does_not_think(tokenizer: Tokenizer, template: ChatTemplate) -> None:
    assert tokenizer.thinking is None
    assert template.render([ASKED]).thinking is None


def test_a_template_that_names_the_tags_tells_that_the_model_thinks(metadata: Metadata, tokenizer: Tokenizer) -> None:
    found = thinking_of(metadata, SWITCHED)
    assert found is not None and not found.is_open
    assert found.end_ids == tuple(tokenizer.encode("</think>"))


def test_a_template_may_open_the_thinking(metadata: Metadata) -> None:
    found = thinking_of(metadata, OPENING)
    assert found is not None and found.is_open


@pytest.mark.parametrize(
    ("source", "may_think", "end"),
    [
        (SWITCHED, True, ("", True)),
        (SWITCHED, False, ("<think>\n\n</think>\n\n", False)),
        (OPENING, True, ("<think>", True)),
        (OPENING, False, ("<think>", True)),
    ],
)
def test_a_template_with_a_switch_leaves_the_thinking_out(
    metadata: Metadata, source: str, may_think: bool, end: tuple[str, bool]
) -> None:
    assert prompt_end(metadata, source, [ASKED], may_think) == end


@pytest.mark.parametrize("source", [SWITCHED, OPENING])
def test_an_answer_that_has_begun_is_not_thought_about(metadata: Metadata, source: str) -> None:
    end, thinks = prompt_end(metadata, source, [ASKED, ChatMessage("assistant", "Because")])
    assert not thinks
    assert "".join(end.split()) == "<think></think>Because"


def test_tags_that_are_control_tokens_are_text_in_an_answer(metadata: Metadata) -> None:
    kinds = list(metadata.token_types)
    names = dict.fromkeys(place for place, kind in enumerate(kinds) if kind == CONTROL and place > 8)
    first, second = list(names)[:2]
    tokens = list(metadata.tokens)
    tokens[first], tokens[second] = "<think>", "</think>"
    tokenizer = Tokenizer(replace(metadata, tokens=tuple(tokens), chat_template=SWITCHED))
    assert tokenizer.thinking is not None
    assert (tokenizer.thinking.begin_ids, tokenizer.thinking.end_ids) == ((first,), (second,))
    assert tokenizer.decode([first, second]) == "<think></think>"
    assert tokenizer.encode("<think>") != [first]
