"""Notes ranked by their similarity to a question, and what they cost in a prompt. Plain values in and out."""

from __future__ import annotations

import time
from collections.abc import Sequence

from inference.tokenization.tokenizer import Tokenizer
from webapp.content.memory.embedding import vector_of
from webapp.content.memory.recall import MOST_NEW, THRESHOLD
from webapp.ground.context import memory
from webapp.ground.gateway.structs import Body, Result

MAX_NOTES = 10
MAX_CHARS = 300


class RetrievalBody(Body):
    """A question, and the notes to choose from."""

    question: str
    notes: list[str]


class RankedNote(Result):
    """A note, and the prompt's part for it and for all notes that are more similar."""

    index: int
    """Its place among the notes as they were sent, from 0."""
    similarity: float
    """Cosine similarity to the question, -1 to 1."""
    part: str
    """The part of the prompt, as the model reads it."""
    num_tokens: int
    """Tokens of that part."""


class Ranking(Result):
    """The notes by their similarity, the most similar first, beside the rules of this server's memory."""

    notes: list[RankedNote]
    threshold: float
    """Least similarity of a memory that is new to a prompt."""
    most: int
    """New memories of one prompt at most."""
    duration_us: int
    """Time of the embeddings and the comparison."""


def ranked(question: str, notes: Sequence[str], tokenizer: Tokenizer) -> Ranking:
    """Compare each note with the question. Raises SafetyModelError."""
    start_ns = time.perf_counter_ns()
    vector = vector_of(question)
    similarities = [round(float(vector_of(note) @ vector), 4) for note in notes]
    duration_us = (time.perf_counter_ns() - start_ns) // 1000
    order = sorted(range(len(notes)), key=lambda index: -similarities[index])
    parts = [_part([notes[index] for index in order[: num + 1]]) for num in range(len(order))]
    found = [
        RankedNote(index=index, similarity=similarities[index], part=part, num_tokens=tokenizer.num_tokens(part))
        for index, part in zip(order, parts, strict=True)
    ]
    return Ranking(notes=found, threshold=THRESHOLD, most=MOST_NEW, duration_us=duration_us)


def _part(notes: Sequence[str]) -> str:
    return memory.part([("", note) for note in notes], is_continued=False).content
