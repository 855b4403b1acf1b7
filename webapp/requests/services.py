"""Objects that a site process shares: log, tokenizer, classifier. Loaded once, on first use."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.event_log import EventLog
from inference.eventlog.leases import Leases, RedisLeases
from inference.eventlog.redis_log import RedisEventLog
from inference.safety import Guard, load_guard
from inference.tokenization.chat_template import ChatTemplate
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer
from webapp.context.assemble import Assembler
from webapp.requests.model_entry import ModelEntry, entry_of
from webapp.safety.in_force import saved_policy


@dataclass(frozen=True)
class PromptServices:
    """The model's tokenizer, template and limits, without the model."""

    tokenizer: Tokenizer
    template: ChatTemplate
    assembler: Assembler
    window: int
    num_ids: int
    """Token ids, counted from 0, that both tokenizer and model know."""


@cache
def event_log() -> EventLog:
    return RedisEventLog.from_url(settings.ENVIRONMENT.redis_url)


@cache
def leases() -> Leases:
    return RedisLeases(connect(settings.ENVIRONMENT.redis_url))


@cache
def background_pool() -> ThreadPoolExecutor:
    """Threads for work in parallel to a task's own: more than a worker has tasks at once."""
    return ThreadPoolExecutor(32, "background")


@cache
def _file_guard() -> Guard:
    return load_guard(settings.ENVIRONMENT.policy_path)


def guard() -> Guard:
    """The classifier under the policy in force. Raises PolicyError, SafetyModelError."""
    policy = saved_policy()
    return _file_guard() if policy is None else _file_guard().under(policy)


@cache
def model_entry() -> ModelEntry:
    """The entry of the served model."""
    return entry_of(settings.ENVIRONMENT.model_path, settings.ENVIRONMENT.has_server)


@cache
def prompt_services() -> PromptServices:
    """Raises TokenizerError, TemplateError."""
    metadata = read_metadata(settings.ENVIRONMENT.model_path)
    tokenizer = Tokenizer(metadata)
    template = ChatTemplate(metadata, tokenizer)
    window = metadata.context_length
    num_ids = min(tokenizer.vocab_size, metadata.num_embeddings)
    return PromptServices(tokenizer, template, Assembler(template, tokenizer, window), window, num_ids)
