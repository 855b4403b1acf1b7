"""Makes the small tokenizer that the exhibit compares with: byte-level BPE, 1,024 entries, of this project's documents.

Run anew only to change it: `python scripts/train_small_bpe.py`. The documents change, and so would the tokenizer.
"""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "frontend" / "src" / "learn" / "tokenizer" / "small-bpe.json"
NUM_ENTRIES = 1024


def main() -> None:
    documents = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=NUM_ENTRIES, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator((path.read_text("utf-8") for path in documents), trainer)
    TARGET.write_text(tokenizer.to_str(), "utf-8")


if __name__ == "__main__":
    main()
