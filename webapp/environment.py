"""The site's settings from the environment, in this one place. Knows nothing of Django.

A field's docstring begins with its variable and its default. `python -m scripts.docs` makes a table of them.
"""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from inference.eventlog.address import BadAddress, check_address
from inference.logs.lines import LogFormat, parse_log_format
from inference.protocol.url import BadUrl, parse_url
from inference.tokenization.bundled import bundled_model

ROOT = Path(__file__).resolve().parent.parent
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (addresses to connect to, not to listen on)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A header's name, a token of RFC 9110."""
_TRACES = "/v1/traces"
_MIN_TOKEN = 16
_LEAST_IDLE_MINUTES = 5
"""The last use is known to the minute."""
_MOST_WORKERS = 16
_LONGEST_MINUTES = 365 * 24 * 60
_PUBLIC_URL = re.compile(r"(https://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?:(?!:443/?$):[1-9][0-9]{0,4})?)(?::443)?/?")
"""The group has no port where it is 443: browsers spell an origin this way (RFC 6454)."""


@dataclass(frozen=True)
class OtlpEndpoint:
    """The endpoint that receives traces as OpenTelemetry spans, and metrics."""

    url: str
    """`SIGHTGLASS_OTLP_ENDPOINT`, default none. An OTLP/HTTP endpoint, such as `http://localhost:4318`.

    Each settled request's trace goes there as OpenTelemetry spans, and once a minute the metrics of all requests.
    """
    headers: dict[str, str]
    """`SIGHTGLASS_OTLP_HEADERS`, default none. Headers for that endpoint.

    Their form is `name=value,name=value`, with values in percent-encoding.
    """
    has_texts: bool
    """`SIGHTGLASS_OTLP_TEXTS`, default `0`. With `1`, prompts and answers go with the spans."""

    @property
    def metrics_url(self) -> str:
        """Where the same endpoint takes metrics."""
        return f"{self.url.removesuffix(_TRACES)}/v1/metrics"


@dataclass(frozen=True)
class EmailServer:
    """The mail server that sends alerts."""

    host: str
    """`SIGHTGLASS_EMAIL_URL`, default none. The mail server that sends alerts by e-mail.

    Its form is `smtp://user:password@host:port?from=alerts@example.org`. `smtp+starttls` and `smtps` encrypt.
    """
    port: int
    user: str
    password: str = field(repr=False)
    security: str
    """Empty, `starttls` or `tls`."""
    sender: str


@dataclass(frozen=True)
class Environment:
    """Every setting of the site, including those that it shares with the worker."""

    host: str
    """`HOST`, default `127.0.0.1`. The address on which the site listens."""
    port: int
    """`PORT`, default `8000`. The port on which the site listens."""
    data: Path
    """`SIGHTGLASS_DATA`, default `data` beside the code. The folder that holds everything that is written."""
    redis_url: str = field(repr=False)
    """`SIGHTGLASS_REDIS_URL`, default `redis://127.0.0.1:6379/0`. The Redis server of the queues and the event logs.

    `make up` starts a server of its own and sets this variable for its processes. [Production](#production) has the
    addresses with a password, with TLS and of Sentinels.
    """
    database_url: str | None = field(repr=False)
    """`SIGHTGLASS_DATABASE_URL`, default SQLite in the data folder. A PostgreSQL database.

    Its form is `postgres://user:password@host:port/name?sslmode=…`. It needs `psycopg[binary]`.
    """
    model_path: Path
    """`SIGHTGLASS_MODEL`, default the bundled SmolLM2. A GGUF file, or a Hugging Face folder with safetensors.

    The families are Llama, Qwen2.5, Qwen3, Gemma 2 and Gemma 3.
    """
    model_name: str
    """`SIGHTGLASS_MODEL_NAME`, default `smollm2-135m-instruct`. The model's name, by which its prices are found."""
    backend_url: str | None
    """The remote back end that generates the tokens; None: the engine does."""
    has_backend_key: bool
    """True if the remote back end has a key. The site does not keep the key itself."""
    policy_path: Path | None
    """`SIGHTGLASS_SAFETY_POLICY`, default the bundled policy. A file of thresholds and replacement texts."""
    num_workers: int
    """`SIGHTGLASS_WORKERS`, default `1`. Inference workers that `make up` starts, 16 at most.

    Each has its own engine and prefix cache. They share the cores, unless `SIGHTGLASS_THREADS` is set.
    """
    queue_timeout_s: float
    """`SIGHTGLASS_QUEUE_TIMEOUT_S`, default `30`. After so many silent seconds a request that no worker took fails."""
    stall_timeout_s: float
    """`SIGHTGLASS_STALL_TIMEOUT_S`, default `30`. After so many silent seconds a request fails whose worker
    has no heartbeat. One whose worker has a heartbeat fails after ten times as many."""
    trace_quota_bytes: int
    """`SIGHTGLASS_TRACE_QUOTA_MB`, default `2048`. A user whose saved traces take so many MiB imports no more.

    Traces of the user's own answers count, and are always saved.
    """
    otlp: OtlpEndpoint | None
    email: EmailServer | None
    webhook_hosts: list[str]
    """`SIGHTGLASS_WEBHOOK_HOSTS`, default none. Internal hosts that alerts may be posted to, separated by commas.

    Other webhooks must have a public address.
    """
    fetch_hosts: list[str]
    """`SIGHTGLASS_FETCH_HOSTS`, default none. Hosts that the tool `fetch` may read, separated by commas.

    Without one the tool is not offered. An entry is a `host` or a `host:port`, and must have a public address.
    `host=address` allows that address too, such as `wiki.internal=10.0.0.5`.
    """
    mcp_config: Path | None
    """`SIGHTGLASS_MCP_CONFIG`, default none. A JSON file of MCP servers whose tools answers may call.

    [Tools](tools.md#mcp-servers) has its form. Each tool is offered once an operator has approved it.
    """
    metrics_token: str | None = field(repr=False)
    """`SIGHTGLASS_METRICS_TOKEN`, default none. The bearer token of `GET /metrics`, of at least 16 characters.

    Without it the address does not exist.
    """
    public_url: str | None
    """`SIGHTGLASS_PUBLIC_URL`, default none. The site's address behind a proxy that ends TLS.

    An example is `https://chat.example.org`. The site then believes `X-Forwarded-Proto` and sends cookies over HTTPS
    only. It takes forms and WebSockets from this address only. Let only the proxy reach the port.
    """
    allowed_hosts: list[str]
    """`SIGHTGLASS_ALLOWED_HOSTS`, default the local names and `HOST`. The site's own names, separated by commas."""
    log_level: str
    """`SIGHTGLASS_LOG_LEVEL`, default `INFO`. The lowest level that the site logs."""
    log_format: LogFormat
    """`SIGHTGLASS_LOG_FORMAT`, default `line`. With `json`, each process logs one JSON object a line.

    Its fields are time, level, logger, message and process, and the request's id where one is at hand.
    """
    secret_key: str = field(repr=False)
    """`SIGHTGLASS_SECRET_KEY`, default made once in the data folder. The key that signs sessions and forms."""
    former_keys: list[str] = field(repr=False)
    """`SIGHTGLASS_SECRET_KEY_FALLBACKS`, default none. Former keys, separated by commas, whose signatures still count.

    After a change of the key they keep users signed in. Leave them out after `SIGHTGLASS_SESSION_MINUTES`.
    """

    session_idle_minutes: int
    """`SIGHTGLASS_SESSION_IDLE_MINUTES`, default `4320`. After so many minutes without use a sign-in ends.

    An open page alone is no use. It is 5 at least, and `SIGHTGLASS_SESSION_MINUTES` at most.
    """
    session_minutes: int
    """`SIGHTGLASS_SESSION_MINUTES`, default `20160`. After so many minutes a sign-in ends, also one in use.

    It is a year at most.
    """

    @property
    def address(self) -> str:
        """The site's own URL, as a program on this machine reaches it."""
        host = _ANY_ADDRESS.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def read_environment() -> Environment:
    """Read all settings and create the data folder. Ends the process with one line when a setting cannot be used."""
    env = os.environ
    data = _data_folder(Path(env.get("SIGHTGLASS_DATA") or ROOT / "data").resolve())
    host = env.get("HOST", "127.0.0.1")
    policy = env.get("SIGHTGLASS_SAFETY_POLICY")
    mcp_config = env.get("SIGHTGLASS_MCP_CONFIG")
    public_url = _public_url(env.get("SIGHTGLASS_PUBLIC_URL"))
    session_minutes = _between("SIGHTGLASS_SESSION_MINUTES", 14 * 24 * 60, _LEAST_IDLE_MINUTES, _LONGEST_MINUTES)
    allowed_hosts = env.get("SIGHTGLASS_ALLOWED_HOSTS", f"localhost,127.0.0.1,[::1],{host}").split(",")
    return Environment(
        host=host,
        port=_number("PORT", 8000),
        data=data,
        redis_url=_redis_url(env.get("SIGHTGLASS_REDIS_URL") or "redis://127.0.0.1:6379/0"),
        database_url=_database_url(env.get("SIGHTGLASS_DATABASE_URL")),
        model_path=Path(env.get("SIGHTGLASS_MODEL") or bundled_model()),
        model_name=env.get("SIGHTGLASS_MODEL_NAME", "smollm2-135m-instruct"),
        backend_url=env.get("SIGHTGLASS_BACKEND_URL") or None,
        has_backend_key=bool(env.get("SIGHTGLASS_BACKEND_KEY")),
        policy_path=Path(policy) if policy else None,
        num_workers=_between("SIGHTGLASS_WORKERS", 1, 1, _MOST_WORKERS),
        queue_timeout_s=_number("SIGHTGLASS_QUEUE_TIMEOUT_S", 30),
        stall_timeout_s=_number("SIGHTGLASS_STALL_TIMEOUT_S", 30),
        trace_quota_bytes=_number("SIGHTGLASS_TRACE_QUOTA_MB", 2048) << 20,
        otlp=_otlp(env.get("SIGHTGLASS_OTLP_ENDPOINT")),
        email=_email(env.get("SIGHTGLASS_EMAIL_URL")),
        webhook_hosts=_listed(env.get("SIGHTGLASS_WEBHOOK_HOSTS", "").lower()),
        fetch_hosts=_listed(env.get("SIGHTGLASS_FETCH_HOSTS", "").lower()),
        mcp_config=Path(mcp_config) if mcp_config else None,
        metrics_token=_metrics_token(env.get("SIGHTGLASS_METRICS_TOKEN")),
        public_url=public_url,
        allowed_hosts=allowed_hosts + ([parse_url(public_url).host] if public_url else []),
        log_level=env.get("SIGHTGLASS_LOG_LEVEL", "INFO"),
        log_format=parse_log_format(env.get("SIGHTGLASS_LOG_FORMAT")),
        secret_key=env.get("SIGHTGLASS_SECRET_KEY") or _saved_secret(data / "secret_key"),
        former_keys=_listed(env.get("SIGHTGLASS_SECRET_KEY_FALLBACKS", "")),
        session_idle_minutes=_between(
            "SIGHTGLASS_SESSION_IDLE_MINUTES", min(3 * 24 * 60, session_minutes), _LEAST_IDLE_MINUTES, session_minutes
        ),
        session_minutes=session_minutes,
    )


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _number(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
    if not text.isascii() or not text.isdigit():
        raise SystemExit(f"sightglass: {name} is {text!r}; use a whole number.")
    return int(text)


def _between(name: str, default: int, least: int, most: int) -> int:
    found = _number(name, default)
    if not least <= found <= most:
        raise SystemExit(f"sightglass: {name} is {found}; use {least} to {most}.")
    return found


def _redis_url(url: str) -> str:
    try:
        return check_address(url)
    except BadAddress as error:
        raise SystemExit(f"sightglass: SIGHTGLASS_REDIS_URL cannot be used: {error}.") from None


def _database_url(url: str | None) -> str | None:
    if not url:
        return None
    try:
        scheme = parse_url(url).scheme
    except BadUrl:
        scheme = ""
    if scheme not in ("postgres", "postgresql"):
        raise SystemExit("sightglass: SIGHTGLASS_DATABASE_URL has the form postgres://user:password@host:port/name.")
    if find_spec("psycopg") is None:
        raise SystemExit("sightglass: SIGHTGLASS_DATABASE_URL needs psycopg: .venv/bin/pip install 'psycopg[binary]'")
    return url


def _public_url(url: str | None) -> str | None:
    if not url:
        return None
    found = _PUBLIC_URL.fullmatch(url.lower())
    if found is None or not _is_url(found[1]):
        raise SystemExit("sightglass: SIGHTGLASS_PUBLIC_URL has the form https://chat.example.org.")
    return found[1]


def _is_url(text: str) -> bool:
    try:
        return bool(parse_url(text).host)
    except BadUrl:
        return False


_SECURITY = {"smtp": "", "smtp+starttls": "starttls", "smtps": "tls"}
_EMAIL_FORM = "sightglass: SIGHTGLASS_EMAIL_URL has the form smtp://user:password@host:port?from=name@host."
"""The address is not quoted: it holds a password."""
_MAIL_PORTS = {"": 25, "starttls": 587, "tls": 465}


def _email(url: str | None) -> EmailServer | None:
    if not url:
        return None
    try:
        parts = parse_url(url)
    except BadUrl:
        raise SystemExit(_EMAIL_FORM) from None
    sender = dict(parse_qsl(parts.query)).get("from", "")
    if parts.scheme not in _SECURITY or not parts.host or "@" not in sender or not sender.isprintable():
        raise SystemExit(_EMAIL_FORM)
    security = _SECURITY[parts.scheme]
    return EmailServer(
        host=parts.host,
        port=parts.port or _MAIL_PORTS[security],
        user=parts.user,
        password=parts.password,
        security=security,
        sender=sender,
    )


def _otlp(endpoint: str | None) -> OtlpEndpoint | None:
    if not endpoint:
        return None
    try:
        parts = parse_url(endpoint)
        is_usable = parts.scheme in ("http", "https") and bool(parts.host) and parts.port != 0
    except BadUrl:
        is_usable = False
    if not is_usable:
        raise SystemExit("sightglass: SIGHTGLASS_OTLP_ENDPOINT has the form http://host:4318.")
    path = "" if endpoint.rstrip("/").endswith(_TRACES) else _TRACES
    return OtlpEndpoint(
        url=endpoint.rstrip("/") + path,
        headers=_otlp_headers(os.environ.get("SIGHTGLASS_OTLP_HEADERS", "")),
        has_texts=_switch("SIGHTGLASS_OTLP_TEXTS"),
    )


def _otlp_headers(text: str) -> dict[str, str]:
    """Parse headers as in OTEL_EXPORTER_OTLP_HEADERS: `name=value,name=value`, values in percent-encoding."""
    headers = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, is_pair, value = (part.strip() for part in pair.partition("="))
        decoded = unquote(value)
        if not is_pair or not _TOKEN.fullmatch(name) or not decoded.isprintable() or not decoded.isascii():
            raise SystemExit("sightglass: SIGHTGLASS_OTLP_HEADERS has the form name=value,name=value.")  # it is secret
        headers[name] = decoded
    return headers


def _metrics_token(token: str | None) -> str | None:
    if not token:
        return None
    if len(token) < _MIN_TOKEN or not (token.isascii() and token.isprintable() and " " not in token):
        form = f"at least {_MIN_TOKEN} visible ASCII characters"  # it is secret
        raise SystemExit(f"sightglass: SIGHTGLASS_METRICS_TOKEN needs {form}: openssl rand -hex 24")
    return token


def _switch(name: str) -> bool:
    text = os.environ.get(name) or "0"
    if text not in ("0", "1"):
        raise SystemExit(f"sightglass: {name} is {text!r}; use 1 or 0.")
    return text == "1"


def _data_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = error.strerror
    else:
        if os.access(path, os.W_OK | os.X_OK):
            return path
        reason = "it cannot be written"
    raise SystemExit(f"sightglass: the data folder {path} cannot be used ({reason}); set SIGHTGLASS_DATA to another.")


def _saved_secret(path: Path) -> str:
    """The secret in the file, which is created on first use and readable by its owner only."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48))
    except FileExistsError:
        pass
    except OSError as error:
        path.unlink(missing_ok=True)  # no file rather than an empty one
        message = f"{path} cannot be written ({error.strerror}); free some of its disk, or set SIGHTGLASS_DATA"
        raise SystemExit(f"sightglass: {message} to another folder.") from None
    return path.read_text("utf-8").strip()
