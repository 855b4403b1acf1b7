"""Models, embeddings and completions by OpenAI's client."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openai
import pytest

from inference.safety.minilm import bundled_minilm
from tests.conformance.openai.conftest import EMBEDDING_MODEL, MODEL

TEXTS = ["A cat sits on the mat.", "Stocks fell again today, and nobody knows why. " * 12, "Café 東京 🙂"]


def test_the_models(client: openai.OpenAI) -> None:
    assert {MODEL, EMBEDDING_MODEL} <= {model.id for model in client.models.list()}
    assert client.models.retrieve(MODEL).object == "model"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nothing")


def test_embeddings_equal_those_of_another_implementation(client: openai.OpenAI) -> None:
    answer = client.embeddings.create(model=EMBEDDING_MODEL, input=TEXTS)
    vectors, num_tokens = by_transformers(bundled_minilm())
    found = np.array([each.embedding for each in answer.data])
    assert [each.index for each in answer.data] == [0, 1, 2]
    # Ours computes with weights of eight bits.
    assert (found * vectors).sum(axis=1).min() > 0.999
    assert answer.usage.prompt_tokens == num_tokens


def by_transformers(folder: Path) -> tuple[np.ndarray, int]:
    """The vectors of TEXTS by the model's own card: the mean of all tokens, at unit length."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    vectors, num_tokens = [], 0
    for text in TEXTS:
        encoded = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            mean = model(**encoded).last_hidden_state[0].mean(dim=0)
        vectors.append((mean / mean.norm()).numpy())
        num_tokens += encoded["input_ids"].shape[1]
    return np.array(vectors), num_tokens


def test_base64_and_numbers_are_the_same_vector(client: openai.OpenAI) -> None:
    packed = client.embeddings.create(model=EMBEDDING_MODEL, input="A cat.")
    plain = client.embeddings.create(model=EMBEDDING_MODEL, input="A cat.", encoding_format="float")
    assert packed.data[0].embedding == pytest.approx(plain.data[0].embedding, abs=1e-7)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": [[1, 2]]}, "input[0]"),
        ({"input": ["word " * 300]}, "input[0]"),
        ({"input": ["a"] * 2049}, "input"),
        ({"input": "a", "dimensions": 100}, "dimensions"),
        ({"input": "a\0"}, "input"),
    ],
)
def test_inputs_that_cannot_be_embedded(client: openai.OpenAI, fields: dict[str, object], field: str) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.embeddings.create(model=EMBEDDING_MODEL, **fields)  # type: ignore[arg-type]
    assert refused.value.param == field


def test_a_text_too_long_is_refused_with_its_count(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="302 tokens"):
        client.embeddings.create(model=EMBEDDING_MODEL, input="word " * 300)


def test_a_completion_goes_on_with_the_text_itself(client: openai.OpenAI) -> None:
    answer = client.completions.create(
        model=MODEL, prompt="The capital of France is", max_tokens=8, temperature=0, logprobs=2
    )
    choice = answer.choices[0]
    assert choice.text.startswith(" Paris")
    assert choice.finish_reason == "length"
    assert choice.logprobs is not None and choice.logprobs.tokens is not None
    assert "".join(choice.logprobs.tokens) == choice.text
    assert answer.usage is not None and answer.usage.prompt_tokens == 5


def test_completions_of_several_prompts(client: openai.OpenAI) -> None:
    prompts = ["One, two,", "A, B,"]
    answer = client.completions.create(model=MODEL, prompt=prompts, n=2, max_tokens=4, seed=1, echo=True)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert [choice.text.startswith(prompts[index // 2]) for index, choice in enumerate(answer.choices)] == [True] * 4


def test_a_completion_of_tokens(client: openai.OpenAI) -> None:
    answer = client.completions.create(model=MODEL, prompt=[504, 3575, 282], max_tokens=4, temperature=0, echo=True)
    assert answer.choices[0].text.startswith("The capital of")
    assert answer.usage is not None and answer.usage.prompt_tokens == 3


def test_a_control_token_in_a_text_is_text(client: openai.OpenAI) -> None:
    answer = client.completions.create(model=MODEL, prompt="a <|im_end|> b", max_tokens=1)
    assert answer.usage is not None and answer.usage.prompt_tokens > 5


def test_a_streamed_completion(client: openai.OpenAI) -> None:
    whole = client.completions.create(model=MODEL, prompt="One, two, three,", max_tokens=8, temperature=0)
    stream = client.completions.create(model=MODEL, prompt="One, two, three,", max_tokens=8, temperature=0, stream=True)
    assert "".join(choice.text for chunk in stream for choice in chunk.choices) == whole.choices[0].text
