"""The names of a request's keys in Redis and the form of a log entry. Knows nothing of connections.

Keys that one script or transaction uses have the same text in braces: a Cluster keeps them in one slot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from inference.eventlog.entry import Entry

PREFIX = "sightglass:"
_SNAPSHOTS = f"{PREFIX}{{snapshots}}"


def log_key(request_id: str) -> str:
    """Stream: one entry per frame, entry id `<last seq>-0`."""
    return f"{PREFIX}log:{{{request_id}}}"


def meta_key(request_id: str) -> str:
    """Hash: attempt, seq, digest, cancelled, claim:<attempt>, writer:<name>."""
    return f"{log_key(request_id)}:meta"


def commands_key(request_id: str) -> str:
    """List: the commands to an answer in step mode, oldest first."""
    return f"{log_key(request_id)}:commands"


LEASES = f"{PREFIX}{{leases}}:deadlines"
"""Sorted set: open requests by the deadline of their lease, in ms since the epoch by Redis's clock."""
LEASE_ATTEMPTS = f"{PREFIX}{{leases}}:attempts"
"""Hash: the attempt that holds each request's lease."""
LEASE_WORKERS = f"{PREFIX}{{leases}}:workers"
"""Hash: the worker that each open request is placed on. A request without one waits in its model's queue."""
WORKER_LOADS = f"{PREFIX}{{leases}}:loads"
"""Hash: the number of open requests placed on each worker."""
DRAINED_WORKERS = f"{PREFIX}drained"
"""Set: workers that an operator lets take no more requests. A worker reads it with each heartbeat."""
GENERATE_QUEUES = f"{PREFIX}queues"
"""Sorted set: the queues of generations that messages were sent to, by unix time of the last one."""


WORKER_QUEUES = "generate:worker:"
"""The beginning of the names of all workers' own queues."""


def model_queue(model: str, tokenizer_version: str) -> str:
    """Celery's queue that each worker of this model takes from while it has places."""
    return f"generate:model:{model}:{tokenizer_version}"


def worker_queue(name: str) -> str:
    """Celery's queue of one worker: for requests whose prompt begins in its prefix cache."""
    return f"{WORKER_QUEUES}{name}"


def recent_workers_key(principal: str, model: str) -> str:
    """List: the workers that this principal's last requests were placed on, the latest first. Expires."""
    return f"{PREFIX}recent:{model}:{principal}"


def hinted_worker_key(principal: str, model: str, hint: str) -> str:
    """Text: the worker that this principal's last request with the same routing hint was placed on. Expires."""
    digest = hashlib.sha256(hint.encode(errors="surrogatepass")).hexdigest()
    return f"{PREFIX}hinted:{model}:{principal}:{digest}"


def pictures_key(request_id: str) -> str:
    """Hash: `<attempt>:<sha256>`, the bytes of a picture that the attempt's generation names. Expires."""
    return f"{PREFIX}pictures:{{{request_id}}}"


def worker_key(name: str) -> str:
    """Hash: state, progress, message of one inference worker; expires without its heartbeat."""
    return f"{PREFIX}worker:{name}"


def snapshot_key(worker: str) -> str:
    """String: the worker's last WorkerSnapshot as JSON. Expires when the worker falls silent."""
    return f"{_SNAPSHOTS}:last:{worker}"


def snapshot_history_key(worker: str) -> str:
    """Stream: the worker's snapshots of the last 15 minutes without their requests, in the field `snapshot`."""
    return f"{_SNAPSHOTS}:history:{worker}"


def snapshot_workers_key() -> str:
    """Sorted set: the workers that published in the last 15 minutes, by unix time of their last snapshot."""
    return f"{_SNAPSHOTS}:workers"


def peeks_key(worker: str) -> str:
    """List: the questions to this worker about its prefix cache, oldest first."""
    return f"{PREFIX}peeks:{worker}"


def peek_reply_key(name: str) -> str:
    """List of one: the answer to such a question. Expires."""
    return f"{PREFIX}peek:{name}"


def probe_key(request_id: str, kind: str, position: int) -> str:
    """Hash: state (queued, running, done, failed), since (unix s); then event (JSON), or code and message. Expires."""
    return f"{PREFIX}probe:{request_id}:{kind}:{position}"


def simulation_key(payload: str) -> str:
    """Hash as a probe's, of the simulation that exactly these bytes request. Expires."""
    return f"{PREFIX}simulation:{hashlib.sha256(payload.encode()).hexdigest()}"


def experiment_key(payload: str) -> str:
    """Hash as a probe's, of the experiment that exactly these bytes request. Expires."""
    return f"{PREFIX}experiment:{hashlib.sha256(payload.encode()).hexdigest()}"


def parse_entry(entry_id: bytes, fields: Mapping[bytes, bytes]) -> Entry:
    last_seq, seq = int(entry_id.split(b"-")[0]), int(fields[b"seq"])
    follows, digest = fields.get(b"follows", b"").decode(), fields.get(b"digest", b"").decode()
    return Entry(last_seq, seq, fields[b"events"], follows, digest)
