"""A server elsewhere as it describes itself: its kind, its model, and a check that it uses our tokens.

Knows nothing of requests. A worker asks once, at its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx

from inference.backends.errors import detail, refused
from inference.backends.parameters import Kind

_TIMEOUT = httpx.Timeout(30, connect=5)
_SAMPLE = "Größe 3,5 µm: naïve café, 你好, 🙂\n\tif x != 10:\n        return x**2  # It's done."
"""Cut differently by nearly any two tokenizers."""
_OWNERS = {"llamacpp": Kind.LLAMA_CPP, "vllm": Kind.VLLM}


class ServerUnavailable(Exception):
    """The server cannot be used; the message says why and what to do."""


class Vocabulary(Protocol):
    """The parts of our tokenizer that are needed here; the server must use the same tokenizer."""

    @property
    def vocab_size(self) -> int: ...

    def encode(self, text: str) -> list[int]: ...

    def piece(self, token: int) -> bytes: ...

    def is_special(self, token: int) -> bool: ...


@dataclass(frozen=True)
class Server:
    """A server's address and its known properties."""

    url: str
    key: str | None = field(repr=False)
    kind: Kind
    model: str
    """Its own name of the model."""
    name: str
    """The server's name and version."""
    window: int | None = None
    quantization: str | None = None

    @property
    def completions_url(self) -> str:
        return f"{self.url}/v1/completions"

    @property
    def chat_url(self) -> str:
        return f"{self.url}/v1/chat/completions"

    @property
    def client_options(self) -> dict[str, Any]:
        return _client_options(self.key)


def connect(url: str, key: str | None, model: str, vocabulary: Vocabulary) -> Server:
    """Ask the server at `url` what it runs. `model` chooses among several that it serves. Raises ServerUnavailable."""
    url = url.rstrip("/").removesuffix("/v1")
    with httpx.Client(base_url=url, timeout=_TIMEOUT, **_client_options(key)) as client:
        try:
            return _Introduction(client, url, key).server(model, vocabulary)
        except httpx.HTTPError as error:
            raise ServerUnavailable(f"The model's server at {url} cannot be reached: {error}.") from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            message = f"The server at {url} is not an OpenAI-compatible one that Sightglass can use ({error!r:.200})."
            raise ServerUnavailable(message) from None


class _Introduction:
    """The questions to one server."""

    def __init__(self, client: httpx.Client, url: str, key: str | None) -> None:
        self._client = client
        self._url = url
        self._key = key

    def server(self, wanted: str, vocabulary: Vocabulary) -> Server:
        models = self._get("/v1/models")["data"]
        model = self._choose(models, wanted)
        kind = _OWNERS.get(model.get("owned_by", ""), Kind.OTHER)
        meta = model.get("meta") or {}
        server = Server(
            url=self._url,
            key=self._key,
            kind=kind,
            model=str(model["id"]),
            name=self._name(kind),
            window=_count(meta.get("n_ctx") or model.get("max_model_len")),
            quantization=meta.get("ftype"),
        )
        self._check_tokens(server, vocabulary)
        return server

    def _choose(self, models: Sequence[dict[str, Any]], wanted: str) -> dict[str, Any]:
        if len(models) == 1:
            return models[0]
        named = [model for model in models if model["id"] == wanted]
        if named:
            return named[0]
        names = ", ".join(str(model["id"]) for model in models[:10]) or "none"
        message = f"The server at {self._url} does not serve {wanted!r} but {names}. Set SIGHTGLASS_MODEL_NAME."
        raise ServerUnavailable(message)

    def _name(self, kind: Kind) -> str:
        if kind is Kind.LLAMA_CPP:
            return f"llama.cpp {self._get_or_nothing('/props').get('build_info', '')}".strip()
        if kind is Kind.VLLM:
            return f"vLLM {self._get_or_nothing('/version').get('version', '')}".strip()
        return "an OpenAI-compatible server"

    def _check_tokens(self, server: Server, vocabulary: Vocabulary) -> None:
        """Generate one token to test the key and the use of ids; compare /tokenize to test the ids' meaning."""
        sample = vocabulary.encode(_SAMPLE)
        body = {"model": server.model, "prompt": sample, "max_tokens": 1, "temperature": 0, "logprobs": 1}
        usage = self._post("/v1/completions", body).get("usage") or {}
        if usage.get("prompt_tokens", len(sample)) != len(sample):
            message = (
                f"The server at {self._url} adds tokens of its own to a prompt of token ids; its trace would be wrong."
            )
            raise ServerUnavailable(message)
        theirs = self._tokenized(server)
        if theirs is not None and theirs != sample:
            message = (
                f"The server at {self._url} has another tokenizer than SIGHTGLASS_MODEL; name a file of the same model."
            )
            raise ServerUnavailable(message)

    def _tokenized(self, server: Server) -> list[int] | None:
        body = {"model": server.model, "content": _SAMPLE, "prompt": _SAMPLE, "add_special_tokens": False}
        response = self._client.post("/tokenize", json=body)
        return response.json()["tokens"] if response.status_code == 200 else None

    def _get(self, path: str) -> dict[str, Any]:
        return self._checked(self._client.get(path))

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._checked(self._client.post(path, json=body))

    def _checked(self, response: httpx.Response) -> dict[str, Any]:
        if response.status_code != 200:
            error = refused(response.status_code, detail(response.content, self._key))
            raise ServerUnavailable(f"{error} Asked: {response.request.method} {response.request.url}.")
        found: dict[str, Any] = response.json()
        return found

    def _get_or_nothing(self, path: str) -> dict[str, Any]:
        response = self._client.get(path)
        found: dict[str, Any] = response.json() if response.status_code == 200 else {}
        return found


def _client_options(key: str | None) -> dict[str, Any]:
    return {
        # No compression: the size of decompressed data has no bound.
        "headers": {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {}),
        # No connection is used twice: a server may close an idle one just as a request is sent.
        "limits": httpx.Limits(max_connections=None, max_keepalive_connections=0),
        # No proxy and no netrc of the environment: the key goes to this address and nowhere else.
        "trust_env": False,
    }


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
