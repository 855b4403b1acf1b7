"""Scores by nearest neighbours among exemplars. Knows nothing of thresholds.

A category's score for a sentence compares the mean similarity of its 3 nearest exemplars with that of the 3 nearest
benign ones.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.safety.minilm import Arrays, Keep, MiniLM
from inference.safety.recent_vectors import RecentVectors
from inference.safety.sentences import split_sentences

EXEMPLARS = Path(__file__).with_name("exemplars.toml")
BENIGN = "benign"
NUM_NEIGHBOURS = 3
SHARPNESS = 12.0
"""Slope of the logistic that turns a similarity margin into a score."""
MIN_SIMILARITY = 0.45
"""Below this mean similarity a sentence resembles no exemplar, and the score shrinks accordingly."""
MAX_SENTENCES = 24
"""Most sentences embedded, which bounds the cost. Of a longer text, those with the most suspicious words are."""
_FORM = "exemplars 2"
"""Form of the kept arrays; raised when their choice changes."""


class ExemplarClassifier:
    """A nearest-neighbour classifier; safe between threads."""

    name = "MiniLM exemplars (kNN-3 margin)"
    version = "4"

    def __init__(self, model: MiniLM, path: Path = EXEMPLARS, keep: Keep = lambda _key, build: build()) -> None:
        """keep: holds the exemplars' vectors; see Keep."""
        self._model = model
        self._recent = RecentVectors(model)
        text = path.read_text("utf-8")
        texts: dict[str, list[str]] = tomllib.loads(text)
        kept = keep(f"{_FORM} {self.version}\n{model.key}\n{text}", lambda: _embed(model, texts))
        self._exemplars = {category: kept[f"{category}.vectors"] for category in texts}
        self._sketches = {category: kept[f"{category}.sketches"] for category in texts}
        self.categories = tuple(category for category in texts if category != BENIGN)

    def score(self, text: str, principal: str | None = None) -> list[dict[str, float]]:
        """Return a score per category, 0 to 1, for each scored sentence. A text without words gives one row of 0.

        The embedding costs at most MAX_SENTENCES, all else grows with the length.
        principal: the text's owner; a sentence recently seen for this principal is not embedded again.
        """
        sentences = self._suspicious(split_sentences(text))
        if not sentences:
            return [dict.fromkeys(self.categories, 0.0)]
        vectors = self._model.embed(sentences) if principal is None else self._recent.embed(sentences, principal)
        benign = self._nearness(vectors, BENIGN)
        columns = [self._scores(vectors, category, benign) for category in self.categories]
        return [dict(zip(self.categories, row, strict=True)) for row in zip(*columns, strict=True)]

    def _suspicious(self, sentences: list[str]) -> list[str]:
        """Return at most MAX_SENTENCES, in order: those with words nearest to harmful and farthest from benign ones."""
        if len(sentences) <= MAX_SENTENCES:
            return sentences
        sketches = self._model.sketch(sentences)
        nearest = {category: (sketches @ known.T).max(axis=1) for category, known in self._sketches.items()}
        margin = np.max([nearest[category] for category in self.categories], axis=0) - nearest[BENIGN]
        return [sentences[index] for index in sorted(np.argsort(-margin)[:MAX_SENTENCES].tolist())]

    def _scores(self, vectors: NDArray[np.float32], category: str, benign: NDArray[np.float32]) -> list[float]:
        """Return one score per sentence."""
        near = self._nearness(vectors, category)
        margin = near - benign - np.maximum(0, MIN_SIMILARITY - near)
        scores: list[float] = (1 / (1 + np.exp(-SHARPNESS * margin))).tolist()
        return scores

    def _nearness(self, vectors: NDArray[np.float32], category: str) -> NDArray[np.float32]:
        """Return the mean cosine similarity of the nearest exemplars, [num_sentences]."""
        similarities = vectors @ self._exemplars[category].T
        nearest: NDArray[np.float32] = np.sort(similarities, axis=1)[:, -NUM_NEIGHBOURS:].mean(axis=1)
        return nearest


def _embed(model: MiniLM, texts: dict[str, list[str]]) -> Arrays:
    vectors = {f"{category}.vectors": model.embed(lines) for category, lines in texts.items()}
    return vectors | {f"{category}.sketches": model.sketch(lines) for category, lines in texts.items()}
