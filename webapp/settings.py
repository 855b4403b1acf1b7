"""Django settings; everything that varies comes from webapp.environment."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote

from inference.protocol.url import parse_url
from webapp.environment import ROOT, read_environment
from webapp.ground.postgres.limits import limited

ENVIRONMENT = read_environment()
BASE_DIR = ROOT

SECRET_KEY = ENVIRONMENT.secret_key
SECRET_KEY_FALLBACKS = ENVIRONMENT.former_keys
DEBUG = False
ALLOWED_HOSTS = ENVIRONMENT.allowed_hosts

INSTALLED_APPS = [
    "webapp.ground.audit.apps.AuditedAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "auditlog",
    "webapp.ground.audit.apps.AuditConfig",
    "webapp.identity.accounts",
    "webapp.tools.mcpclient",
    "webapp.models.safety",
    "webapp.models.registry",
    "webapp.identity.keys",
    "webapp.requests",
    "webapp.content.attachments",
    "webapp.surfaces.checks",
    "webapp.surfaces.chat",
    "webapp.content.memory",
    "webapp.identity.presets",
    "webapp.traces",
    "webapp.traces.recordings",
    "webapp.lifecycle.probes",
    "webapp.surfaces.runs",
    "webapp.surfaces.calls",
    "webapp.surfaces.batches",
    "webapp.models.billing",
    "webapp.usage",
    "webapp.operations.demo",
    "webapp.usage.alerts",
    "webapp.usage.limits",
    "webapp.identity.notices",
    "webapp.operations.privacy",
    "webapp.operations.supervisor",
]
MIDDLEWARE = [
    "webapp.usage.metrics.http.CountRequests",
    "webapp.ground.gateway.request_id.NameRequest",
    "webapp.ground.gateway.headers.SecurityHeadersMiddleware",
    "webapp.ground.gateway.nul_check.RefuseNul",
    "django.middleware.security.SecurityMiddleware",
    "webapp.ground.gateway.static_files.static_files",
    "webapp.ground.gateway.compression.CompressionMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "webapp.identity.accounts.use.NoteUse",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "webapp.identity.keys.middleware.UseKey",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "webapp" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


# Threads stay, and so do their connections: opening one costs as much as two queries. Each is checked before use.
_KEPT: dict[str, Any] = {"CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}


def _database(url: str | None) -> dict[str, Any]:
    if url is None:
        return _KEPT | {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": ENVIRONMENT.data / "sightglass.sqlite3",
            "OPTIONS": {
                "timeout": 20,
                # Writers queue at BEGIN instead of failing when a read transaction turns into a write.
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;",
            },
        }
    parts = parse_url(url)
    ports = [str(node.port or "") for node in parts.nodes]  # an empty one is libpq's own
    return _KEPT | {
        "ENGINE": "webapp.ground.postgres",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": parts.user,
        "PASSWORD": parts.password,
        "HOST": unquote(",".join(node.host for node in parts.nodes)),
        "PORT": ",".join(ports) if any(ports) else "",
        "OPTIONS": limited(dict(parse_qsl(parts.query))),  # libpq's own: sslmode, host (for a socket) and so on
    }


DATABASES = {"default": _database(ENVIRONMENT.database_url)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

PASSWORD_HASHERS = ["webapp.identity.accounts.hasher.PatientHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "webapp.identity.accounts.passwords.EndSignIns"},
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/accounts/login/"
SESSION_COOKIE_SAMESITE = "Lax"
# Not cached_db: each web process would have its own cache, and keep a session after a sign-out in another process.
SESSION_ENGINE = "webapp.identity.accounts.sessions"
SESSION_COOKIE_AGE = ENVIRONMENT.session_minutes * 60
CSRF_FAILURE_VIEW = "webapp.ground.gateway.errors.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
if ENVIRONMENT.public_url is not None:
    # A client that bypasses the proxy can send this header too. It is believed only where a proxy is configured.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    # Browsers take such a cookie from this host alone, over TLS alone.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_SSL_REDIRECT = True
    # Programs beside the site ask these addresses without the proxy.
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
    # Names below the public one, and the browsers' own list of hosts, are the operator's matter.
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
    CSRF_TRUSTED_ORIGINS = [ENVIRONMENT.public_url]

AUDITLOG_STORE_JSON_CHANGES = True

if ENVIRONMENT.email is not None:
    EMAIL_HOST, EMAIL_PORT = ENVIRONMENT.email.host, ENVIRONMENT.email.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = ENVIRONMENT.email.user, ENVIRONMENT.email.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = ENVIRONMENT.email.security == "starttls", ENVIRONMENT.email.security == "tls"
EMAIL_TIMEOUT = 10

BATCH_FORMS = "webapp.api.families.batches.FORMS"
DATA_UPLOAD_MAX_MEMORY_SIZE = 40 << 20

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = ENVIRONMENT.data / "static"
STATIC_ROOT.mkdir(exist_ok=True)
STATICFILES_DIRS = [ROOT / "webapp" / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
# Names of the built page's files contain their content's hash; browsers revalidate all other files by ETag.
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/app/assets/.+-[\w-]{8}\.\w+$"
WHITENOISE_MAX_AGE = 0

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "webapp.private_log.LineFormatter", "fmt": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        "json": {"()": "webapp.private_log.PrivateJsonFormatter"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": ENVIRONMENT.log_format},
        "nowhere": {"class": "logging.NullHandler"},
    },
    "root": {"handlers": ["console"], "level": ENVIRONMENT.log_level},
    # They log what an MCP server sends, and the addresses of servers, which may hold secrets. The SDK names its
    # session's logger `client`.
    "loggers": {
        name: {"level": "CRITICAL", "handlers": ["nowhere"], "propagate": False}
        for name in ("client", "mcp.client", "mcp.os", "mcp.shared", "httpcore2", "httpx2")
    },
}
