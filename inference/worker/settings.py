"""The worker's settings, read from the environment in this one place. Knows nothing of Celery.

`python -m inference.worker.settings` only reads them, and ends with one line where one cannot be used.
A field's docstring begins with its variable and its default. `python -m scripts.docs` makes a table of them.
`webapp/environment.py` describes the settings that the site reads too.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from inference.engine.scheduling.block_manager import DEFAULT_KV_BYTES
from inference.eventlog.address import BadAddress, check_address
from inference.kernels.forms import AUTO, CHOICES
from inference.logs.lines import LogFormat, parse_log_format
from inference.models.device import DeviceChoice
from inference.protocol.url import BadUrl, parse_url
from inference.tokenization.bundled import bundled_model
from inference.worker.cores import default_threads, read_cores

_ROOT = Path(__file__).resolve().parents[2]
DEFAULT_DRAIN_S = 20


@dataclass(frozen=True)
class WorkerSettings:
    """Every setting of an inference worker, a probe worker included."""

    redis_url: str = field(repr=False)
    model_path: Path
    model_name: str
    num_threads: int
    """`SIGHTGLASS_THREADS`, default all cores but one, or the fast cores of Apple silicon. Threads of the engine.

    The workers of `SIGHTGLASS_WORKERS` share these cores.
    """
    kv_bytes: int
    """`SIGHTGLASS_KV_MB`, default `512`. Memory for keys and values, in MiB, taken as it is used.

    One MiB holds 45 tokens of the bundled model. The memory bounds prompt and answer together. It also bounds what the
    prefix cache keeps. A GPU takes all of it at once, and needs more than 512.
    """
    policy_path: Path | None
    weights_path: Path
    kernels_path: Path
    log_format: LogFormat = "line"
    device: DeviceChoice = "cpu"
    """`SIGHTGLASS_DEVICE`, default `cpu`. The processor that computes: `cpu`, `cuda` or `auto`.

    `cuda` needs PyTorch's CUDA build, and has never run on a card. `auto` takes a GPU where PyTorch finds one.
    """
    kernels: str = AUTO
    """`SIGHTGLASS_KERNELS`, default `auto`. The instructions that compute a quantised model on a CPU.

    `auto` takes the best that the CPU has. `avx512`, `avxvnni`, `avx2` and `neon` force one. `plain` is C without
    vectors, for comparison. `torch` leaves the model to PyTorch.
    """
    draft_path: Path | None = None
    """`SIGHTGLASS_DRAFT_MODEL`, default none. A smaller model with the same tokenizer, which guesses tokens ahead.

    Without it the engine guesses from repeated text. The answer is the same either way.
    """
    is_bitwise: bool = False
    """`SIGHTGLASS_BITWISE`, default `0`. With `1`, the engine reads prompts in the form in which it writes answers.

    No answer then depends on what the prefix cache holds. Reading takes about a quarter longer.
    """
    backend_url: str | None = None
    """`SIGHTGLASS_BACKEND_URL`, default none. A remote back end that makes the tokens in place of the engine.

    It is vLLM, llama.cpp's server, or another server with OpenAI's completions API and log-probabilities.
    `SIGHTGLASS_MODEL` still names a GGUF of the same model, for tokenizer and chat template.
    """
    backend_key: str | None = field(default=None, repr=False)
    """`SIGHTGLASS_BACKEND_KEY`, default none. The remote back end's key. No log and no trace holds it."""
    drain_s: int = DEFAULT_DRAIN_S
    """`SIGHTGLASS_DRAIN_S`, default `20`. Seconds in which a worker that is stopped may end its answers.

    It takes no new ones. It hands what is left over to another worker. `0` hands over at once.
    """


def read_settings() -> WorkerSettings:
    env = os.environ
    data = Path(env.get("SIGHTGLASS_DATA") or _ROOT / "data")
    policy, draft = env.get("SIGHTGLASS_SAFETY_POLICY"), env.get("SIGHTGLASS_DRAFT_MODEL")
    return WorkerSettings(
        redis_url=_redis_url(env.get("SIGHTGLASS_REDIS_URL") or "redis://127.0.0.1:6379/0"),
        model_path=Path(env.get("SIGHTGLASS_MODEL") or bundled_model()),
        model_name=env.get("SIGHTGLASS_MODEL_NAME", "smollm2-135m-instruct"),
        num_threads=_positive("SIGHTGLASS_THREADS") or _share_of_threads(),
        kv_bytes=(_positive("SIGHTGLASS_KV_MB") or 0) << 20 or DEFAULT_KV_BYTES,
        policy_path=Path(policy) if policy else None,
        weights_path=data / "weights",
        kernels_path=data / "kernels",
        log_format=parse_log_format(env.get("SIGHTGLASS_LOG_FORMAT")),
        device=_device(env.get("SIGHTGLASS_DEVICE") or "cpu"),
        kernels=_kernels(env.get("SIGHTGLASS_KERNELS") or AUTO),
        draft_path=Path(draft) if draft else None,
        is_bitwise=_switch("SIGHTGLASS_BITWISE"),
        backend_url=_backend_url(env.get("SIGHTGLASS_BACKEND_URL")),
        backend_key=_backend_key(env.get("SIGHTGLASS_BACKEND_KEY")),
        drain_s=_seconds("SIGHTGLASS_DRAIN_S", DEFAULT_DRAIN_S),
    )


def _redis_url(url: str) -> str:
    try:
        return check_address(url)
    except BadAddress as error:
        raise SystemExit(f"sightglass: SIGHTGLASS_REDIS_URL cannot be used: {error}.") from None


def _share_of_threads() -> int:
    """The threads of one of the workers that `make up` starts on this machine."""
    return max(1, default_threads(read_cores()) // (_positive("SIGHTGLASS_WORKERS") or 1))


def _device(text: str) -> DeviceChoice:
    choices: tuple[DeviceChoice, ...] = get_args(DeviceChoice)
    if text not in choices:
        raise SystemExit(f"sightglass: SIGHTGLASS_DEVICE is {text!r}; use one of {', '.join(choices)}.")
    return choices[choices.index(text)]


def _kernels(text: str) -> str:
    if text.lower() not in CHOICES:
        raise SystemExit(f"sightglass: SIGHTGLASS_KERNELS is {text!r}; use one of {', '.join(CHOICES)}.")
    return text.lower()


def _backend_url(url: str | None) -> str | None:
    if not url:
        return None
    try:
        parts = parse_url(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.host) and parts.port != 0
    except BadUrl:
        is_good = False
    # Not quoted: a key may have been written into it.
    if not is_good or "@" in url or parts.query or parts.fragment:
        raise SystemExit(
            "sightglass: SIGHTGLASS_BACKEND_URL has the form http://host:port; its key is in its own variable."
        )
    return url


def _backend_key(key: str | None) -> str | None:
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise SystemExit("sightglass: SIGHTGLASS_BACKEND_KEY may hold only visible ASCII characters.")
    return key or None


def _switch(name: str) -> bool:
    text = os.environ.get(name) or "0"
    if text not in ("0", "1"):
        raise SystemExit(f"sightglass: {name} is {text!r}; use 1 for on, 0 for off.")
    return text == "1"


def _seconds(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
    if not (text.isascii() and text.isdigit()):
        raise SystemExit(f"sightglass: {name} is {text!r}; use a whole number of seconds.")
    return int(text)


def _positive(name: str) -> int | None:
    text = os.environ.get(name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise SystemExit(f"sightglass: {name} is {text!r}; use a whole number from 1 on.")
    return int(text)


if __name__ == "__main__":
    read_settings()
