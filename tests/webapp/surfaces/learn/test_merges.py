"""The merges that the exhibit learns in the browser are those that the tokenizers library learns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

GOLDEN: list[dict[str, Any]] = json.loads((Path(__file__).parents[3] / "golden" / "merges.json").read_text("utf-8"))


def learnt(text: str) -> list[list[str]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=1 << 14,
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    merges: list[list[str]] = json.loads(tokenizer.to_str())["model"]["merges"]
    return merges


def test_the_golden_merges_are_the_librarys() -> None:
    assert [learnt(each["text"]) for each in GOLDEN] == [each["merges"] for each in GOLDEN]
