"""The queue from which every worker with the bundled model takes generations."""

from __future__ import annotations

from inference.eventlog.keys import model_queue
from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer

GENERATE = model_queue("smollm2-135m-instruct", Tokenizer(read_metadata(bundled_model())).version)
