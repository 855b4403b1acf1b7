"""Objects that a site process shares: log, tokenizer, classifier. Loaded once, on first use."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.event_log import EventLog
from inference.eventlog.leases import Leases, RedisLeases
from inference.eventlog.pictures import Pictures, RedisPictures
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.safety_policy import Policy
from inference.safety import Guard, load_guard
from inference.safety.minilm import MiniLM, bundled_minilm
from inference.tokenization.chat_template import ChatTemplate
from inference.tokenization.gguf_metadata import TokenizerError, read_metadata
from inference.tokenization.template_process import TemplateError
from inference.tokenization.tokenizer import Tokenizer
from webapp.ground.context.assemble import Assembler
from webapp.models.registry.models import RegisteredModel
from webapp.models.registry.offered import find
from webapp.models.safety.in_force import file_policy, group_names, saved_policy
from webapp.requests.model_entry import ModelEntry, entry_of

_MOST_TOKENIZERS = 8
"""Models whose tokenizer and template stay loaded. One takes some 50 MB, with a process for its template."""
_TOKENIZER_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "chat_template.jinja",
)
"""Files of a folder from which tokenizer and template are made."""


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
def pictures() -> Pictures:
    """The pictures that lie ready for inference workers."""
    return RedisPictures(connect(settings.ENVIRONMENT.redis_url))


@cache
def background_pool() -> ThreadPoolExecutor:
    """Threads for work in parallel to a task's own: more than a worker has tasks at once."""
    return ThreadPoolExecutor(32, "background")


@cache
def minilm() -> MiniLM:
    """The one encoder of the process, for checks and for embeddings. Raises SafetyModelError."""
    return MiniLM(bundled_minilm())


@cache
def _file_guard() -> Guard:
    return load_guard(settings.ENVIRONMENT.policy_path, minilm())


@cache
def _file_policy() -> Policy:
    return file_policy()


def guard(user_id: int | None = None) -> Guard:
    """The classifier under the policy in force for a user. Raises PolicyError, SafetyModelError.

    user_id: None: the policy without any group's thresholds.
    """
    policy = policy_of_user(user_id)
    return _file_guard() if policy is None else _file_guard().under(policy)


def policy_of_user(user_id: int | None) -> Policy | None:
    """The policy in force for a user; None: the file's, without any group's thresholds."""
    saved = saved_policy()
    policy = saved or _file_policy()
    names = group_names(user_id) if policy.groups and user_id is not None else ()
    own = policy.of_group(names)
    return own if saved is not None or own.version != policy.version else None


def model_entry(model: RegisteredModel) -> ModelEntry:
    """The entry of a registered model."""
    return entry_of(Path(model.path), model.has_server)


def prompt_services(model: str) -> PromptServices:
    """The services of a registered model; loaded again when its files have changed.

    Raises TokenizerError, TemplateError.
    """
    row = find(model)
    if row is None:
        raise TokenizerError(f"{model} is not in the registry any more; choose another model")
    return _load(row)


def _load(model: RegisteredModel) -> PromptServices:
    path = Path(model.path)
    return _loaded(path, _state_of(path))


def loaded_or_none(model: str) -> PromptServices | None:
    """The services of a model; None: it has no row, or its files cannot be read."""
    row = find(model)
    return None if row is None else services_of(row)


def services_of(model: RegisteredModel) -> PromptServices | None:
    """The services of a registered model; None: its files cannot be read."""
    try:
        return _load(model)
    except (TokenizerError, TemplateError):
        return None


def can_end_thinking(model: str) -> bool:
    """Return whether the model's thinking can be ended: this site's own engine forces the tag, no other server does."""
    row = find(model)
    return row is not None and not row.has_server


def _state_of(path: Path) -> tuple[object, ...]:
    """A value that changes with the files of tokenizer and template."""
    files = [path / name for name in _TOKENIZER_FILES] if path.is_dir() else [path]
    found = [file.stat() for file in files if file.is_file()]
    return tuple((each.st_ino, each.st_size, each.st_mtime_ns) for each in found)


@lru_cache(maxsize=_MOST_TOKENIZERS)
def _loaded(path: Path, _state: tuple[object, ...]) -> PromptServices:
    metadata = read_metadata(path)
    tokenizer = Tokenizer(metadata)
    template = ChatTemplate(metadata, tokenizer)
    window = metadata.context_length
    num_ids = min(tokenizer.vocab_size, metadata.num_embeddings)
    return PromptServices(tokenizer, template, Assembler(template, tokenizer, window), window, num_ids)
