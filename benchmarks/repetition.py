"""How often the bundled model's answers repeat themselves, by settings: `python -m benchmarks.repetition`.

Each prompt of repetition_prompts.json is asked with two seeds, each question about a fact with four. All answers of one
setting are computed side by side, which changes none of them. A row of the table:

- repeats: answers of which more than a fifth of the runs of four words stood in them before
- ended: answers that the worker would have ended as a repetition
- cut: answers at the length limit
- choice: share of tokens at whose draw more than one candidate was left
- facts: answers with the fact in them
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import msgspec

from benchmarks.setting import MODEL, NUM_THREADS, tokenizer
from inference.engine.engine import Engine
from inference.engine.loading import load_engine
from inference.eventlog.clock import RequestClock, unix_us
from inference.kernels.choice import find_kernels
from inference.models.weights.packed_cache import PackedCache
from inference.protocol.events import TokenSampled
from inference.protocol.request import FinishReason, GenerationRequest, SamplingParams
from inference.tokenization.chat_template import ChatMessage, ChatTemplate
from inference.tokenization.gguf_metadata import read_metadata
from inference.worker.repetition import Repetition
from inference.worker.settings import read_settings
from webapp.requests.model_entry import entry_of

_PROMPTS = Path(__file__).with_name("repetition_prompts.json")
_SEEDS = (11, 12)
_FACT_SEEDS = (11, 12, 13, 14)
_RUN = 4
"""Words."""
_MOST_REPEATED = 0.2
_KV_BYTES = 1 << 30

BRIEFLY = "Answer briefly and to the point."
SENTENCES = "Answer in a few short sentences, in English."


@dataclass(frozen=True)
class Setting:
    """A row of the table."""

    name: str
    system_prompt: str
    params: SamplingParams


def _dry(temperature: float, **others: float) -> SamplingParams:
    return SamplingParams(temperature=temperature, top_p=1, min_p=0.05, dry_multiplier=0.8, max_tokens=300, **others)


_ENTRY = entry_of(MODEL, has_server=False)
SETTINGS = [
    Setting("T .2, p .9, briefly (before)", BRIEFLY, SamplingParams()),
    Setting(
        "T .2, p .9, freq .5, pres .2",
        SENTENCES,
        SamplingParams(frequency_penalty=0.5, presence_penalty=0.2, max_tokens=300),
    ),
    Setting("T .4, min-p .05, DRY .8", SENTENCES, _dry(0.4)),
    Setting("T .5, min-p .05, DRY .8", SENTENCES, _dry(0.5)),
    Setting(
        "T .3, min-p .05, DRY .8, freq .5, pres .2",
        SENTENCES,
        _dry(0.3, frequency_penalty=0.5, presence_penalty=0.2),
    ),
    Setting("the model's entry", _ENTRY.default_system_prompt, _ENTRY.default_params),
]


@dataclass
class Answer:
    """One answer as it was made."""

    tokens: list[TokenSampled] = field(default_factory=list)
    finish_reason: FinishReason | None = None

    @property
    def text(self) -> str:
        return b"".join(token.piece for token in self.tokens).decode(errors="replace")

    @property
    def repeated_share(self) -> float:
        """Of its runs of four words those that stood in it before."""
        words = self.text.lower().split()
        runs = list(zip(*(words[start:] for start in range(_RUN)), strict=False))
        return 1 - len(set(runs)) / len(runs) if runs else 0.0

    @property
    def is_repetition(self) -> bool:
        repetition = Repetition()
        return any(repetition.add(token.id) for token in self.tokens)

    @property
    def num_choices(self) -> int:
        """Tokens at whose draw more than one candidate was left."""
        return sum(token.u is not None and (token.processors or ())[-1].num_candidates > 1 for token in self.tokens)


class Bench:
    """The engine with the bundled model and its chat template."""

    def __init__(self, num_threads: int = NUM_THREADS) -> None:
        settings = read_settings()
        kernels = find_kernels(settings.kernels_path, num_threads, settings.kernels)
        cache = PackedCache(settings.weights_path)
        self._engine: Engine = load_engine(
            MODEL, num_threads, tokenizer(), cache=cache, kernels=kernels, kv_bytes=_KV_BYTES, has_drafts=False
        )
        self._template = ChatTemplate(read_metadata(MODEL), tokenizer())
        self._num_requests = 0

    def ask(self, setting: Setting, questions: Iterable[str], seeds: Sequence[int]) -> list[list[Answer]]:
        """For each question an answer for each seed."""
        answers: dict[str, Answer] = {}
        groups = [[self._submit(setting, text, seed, answers) for seed in seeds] for text in questions]
        while self._engine.has_work():
            for output in self._engine.step():
                answer = answers[output.request_id]
                answer.tokens += [event for event in output.events if isinstance(event, TokenSampled)]
                answer.finish_reason = output.finish_reason
        return groups

    def _submit(self, setting: Setting, text: str, seed: int, answers: dict[str, Answer]) -> Answer:
        system = [ChatMessage("system", setting.system_prompt)] if setting.system_prompt else []
        prompt = self._template.render([*system, ChatMessage("user", text)])
        self._num_requests += 1
        request = GenerationRequest(
            request_id=f"req_{self._num_requests}",
            attempt=1,
            model="benchmark",
            prompt_ids=tuple(prompt.ids),
            params=msgspec.structs.replace(setting.params, seed=seed),
            accepted_unix_us=unix_us(),
            num_candidates=2,
            principal="",
        )
        self._engine.submit(request, frozenset(tokenizer().eos_ids), RequestClock(unix_us()))
        return answers.setdefault(request.request_id, Answer())


def has_fact(text: str, facts: Sequence[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(fact)}s?(?!\w)", text, re.IGNORECASE) for fact in facts)


def row(bench: Bench, setting: Setting) -> str:
    """One setting's figures."""
    data = json.loads(_PROMPTS.read_text("utf-8"))
    answers = list(chain.from_iterable(bench.ask(setting, data["prompts"], _SEEDS)))
    groups = bench.ask(setting, [fact["question"] for fact in data["facts"]], _FACT_SEEDS)
    right = sum(
        has_fact(answer.text, fact["answers"])
        for fact, group in zip(data["facts"], groups, strict=True)
        for answer in group
    )
    num_tokens = sum(len(answer.tokens) for answer in answers)
    figures = [
        f"{sum(answer.repeated_share > _MOST_REPEATED for answer in answers)}/{len(answers)}",
        f"{sum(answer.is_repetition for answer in answers)}",
        f"{sum(answer.finish_reason == 'length' for answer in answers)}",
        f"{num_tokens / len(answers):.0f}",
        f"{sum(answer.num_choices for answer in answers) / num_tokens:.2f}",
        f"{right}/{sum(map(len, groups))}",
    ]
    return f"{setting.name:44}" + "".join(f"{figure:>9}" for figure in figures)


def main() -> None:
    """Prints the table; with names of rows as arguments, those alone."""
    bench = Bench()
    print(f"{'':44}" + "".join(f"{name:>9}" for name in ("repeats", "ended", "cut", "tokens", "choice", "facts")))
    for setting in [each for each in SETTINGS if each.name in sys.argv[1:] or not sys.argv[1:]]:
        print(row(bench, setting))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
