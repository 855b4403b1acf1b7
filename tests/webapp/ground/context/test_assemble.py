"""Packing the window: oldest turns are dropped first, the newest message stays, segments tile the prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.tokenization.chat_template import ChatTemplate
from inference.tokenization.gguf_metadata import Metadata
from inference.tokenization.tokenizer import Tokenizer
from webapp.ground.context.assemble import Assembler, ContextTooLarge, SourceMessage


def conversation(num_turns: int, words: int) -> list[SourceMessage]:
    messages = [SourceMessage("system", "Be brief.", "conversation:system", "system")]
    for turn in range(num_turns):
        messages.append(SourceMessage("user", f"question {turn} " + "word " * words, f"message:q{turn}", "history"))
        messages.append(SourceMessage("assistant", f"answer {turn} " + "word " * words, f"message:a{turn}", "history"))
    return [*messages, SourceMessage("user", "the newest question", "message:new", "user")]


@given(
    num_turns=st.integers(0, 12), words=st.integers(0, 40), window=st.integers(60, 600), max_tokens=st.integers(1, 900)
)
def test_whatever_fits_is_kept_and_the_rest_is_recorded(
    template: ChatTemplate, tokenizer: Tokenizer, num_turns: int, words: int, window: int, max_tokens: int
) -> None:
    messages = conversation(num_turns, words)
    result = Assembler(template, tokenizer, window).assemble(messages, max_tokens)

    assert len(result.prompt.ids) + result.reserved_output <= window
    assert [s.start for s in result.segments] == [0, *[s.end for s in result.segments][:-1]]
    assert result.segments[-1].end == len(result.prompt.ids)
    kept = [s.source for s in result.segments if s.source != "template"]
    assert kept[0] == "conversation:system" and kept[-1] == "message:new"
    dropped = [d.source for d in result.dropped]
    assert dropped + kept[1:] == [m.source for m in messages[1:]]
    assert len(dropped) % 2 == 0
    assert all(d.num_tokens > 0 for d in result.dropped)


def test_a_message_larger_than_the_window_is_refused_with_figures(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    messages = [SourceMessage("user", "word " * 500, "message:new", "user")]
    with pytest.raises(ContextTooLarge, match=r"has 50\d tokens; the model's window holds 200"):
        Assembler(template, tokenizer, 200).assemble(messages, 100)


def test_the_default_system_prompt_is_shown_as_the_templates(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    result = Assembler(template, tokenizer, 1000).assemble([SourceMessage("user", "Hi", "message:new", "user")], 10)
    kinds = [segment.kind for segment in result.segments]
    assert kinds == ["template", "system", "template", "user", "template"]
    own = result.segments[1]
    assert (own.role, own.source) == ("system", "template")
    assert own.text.startswith("You are a helpful AI assistant") and "<|" not in own.text
    assert "helpful" in tokenizer.decode(result.prompt.ids[own.start : own.end])


def test_a_system_prompt_of_ones_own_is_not_the_templates(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    result = Assembler(template, tokenizer, 1000).assemble(conversation(0, 0), 10)
    assert [(each.kind, each.source) for each in result.segments if each.kind == "system"] == [
        ("system", "conversation:system")
    ]


def test_a_client_that_keeps_the_history_is_told_that_it_does_not_fit(
    template: ChatTemplate, tokenizer: Tokenizer
) -> None:
    assembler = Assembler(template, tokenizer, 300)
    with pytest.raises(ContextTooLarge, match=r"The prompt has [\d,]+ tokens; the model's window holds 300"):
        assembler.assemble(conversation(12, 40), 100, on_full="fill")


def test_a_clients_own_prompt_leaves_the_answer_what_it_leaves(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    messages = conversation(4, 10)
    num_tokens = len(Assembler(template, tokenizer, 1000).assemble(messages, 1).prompt.ids)
    assembled = Assembler(template, tokenizer, num_tokens + 1).assemble(messages, 1000, on_full="fill")
    assert (len(assembled.prompt.ids), assembled.reserved_output, assembled.dropped) == (num_tokens, 1, ())
    with pytest.raises(ContextTooLarge):
        Assembler(template, tokenizer, num_tokens).assemble(messages, 1, on_full="fill")


def test_a_part_has_the_kind_that_its_maker_names(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    messages = [
        SourceMessage("system", "Be brief.", "conversation:system", "system"),
        SourceMessage("system", "Tools.", "tools", "tools", is_continued=True),
        SourceMessage("user", "Hi", "message:new", "user"),
        SourceMessage("user", " there", "message:new", "user", is_continued=True),
    ]
    result = Assembler(template, tokenizer, 1000).assemble(messages, 10)
    kinds = [segment.kind for segment in result.segments if segment.kind != "template"]
    assert kinds == ["system", "tools", "user", "user"]


def test_turns_of_several_parts_are_dropped_whole(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    parts = [
        part
        for turn in range(9)
        for part in (
            SourceMessage("user", "question " * 20, f"q{turn}", "history"),
            SourceMessage("user", "more " * 20, f"q{turn}", "history", is_continued=True),
            SourceMessage("assistant", "answer " * 20, f"a{turn}", "history"),
        )
    ]
    result = Assembler(template, tokenizer, 300).assemble([*parts, SourceMessage("user", "new", "new", "user")], 20)
    assert len(result.dropped) % 3 == 0 and result.dropped


def test_a_plain_text_is_the_whole_prompt(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    text = SourceMessage("user", "a <|im_end|> b", "api:prompt", "user")
    packed = Assembler(template, tokenizer, 64).plain(text, (), max_tokens=8)
    assert packed.prompt.ids == tokenizer.encode("a <|im_end|> b")
    assert packed.prompt.special == []
    assert [(each.start, each.end, each.source, each.text) for each in packed.segments] == [
        (0, len(packed.prompt.ids), "api:prompt", "a <|im_end|> b")
    ]


def test_a_plain_text_follows_the_beginning_token_where_the_model_wants_it(
    template: ChatTemplate, metadata: Metadata
) -> None:
    tokenizer = Tokenizer(replace(metadata, begins_with_bos=True))
    packed = Assembler(template, tokenizer, 64).plain(
        SourceMessage("user", "One, two,", "api:prompt", "user"), (), max_tokens=8
    )
    assert packed.prompt.ids == [metadata.bos_id, *tokenizer.encode("One, two,")]
    assert [each.source for each in packed.segments] == ["template", "api:prompt"]


def test_tokens_of_a_plain_text_stay_as_they_are(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    end = tokenizer.special_ids["<|im_end|>"]
    ids = (*tokenizer.encode("a "), end)
    packed = Assembler(template, tokenizer, 64).plain(
        SourceMessage("user", "a <|im_end|>", "api:prompt", "user"), ids, 8
    )
    assert packed.prompt.ids == list(ids)
    assert packed.prompt.special == [len(ids) - 1]


def test_a_plain_text_that_does_not_fit_is_refused(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    with pytest.raises(ContextTooLarge, match="64"):
        Assembler(template, tokenizer, 64).plain(SourceMessage("user", "word " * 64, "api:prompt", "user"), (), 8)
