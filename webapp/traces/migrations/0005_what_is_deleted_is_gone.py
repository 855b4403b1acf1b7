"""What traces and rows of former versions still told of what was deleted.

The form of a trace file stands here as it was then, so that this does the same whatever becomes of the product.
"""

import base64
import hashlib
import logging

import msgspec
import zstandard
from django.db import migrations

logger = logging.getLogger(__name__)

_MAGIC = b"SGTRACE1"
_DIGEST_BYTES = 32
_MAX_UNPACKED_BYTES = 32 << 20
_LEVEL = 15
_BATCH = 100
"""Traces from one line in the log to the next; a few seconds of work."""


def strip_texts_of_others(apps, schema_editor):
    """A trace quoted the turn before, also when that was deleted.

    Each trace is saved by itself, so that no process waits for all of them; an interrupted run begins again.
    """
    traces = apps.get_model("traces", "Trace").objects
    ids = list(traces.values_list("pk", flat=True))
    for start in range(0, len(ids), _BATCH):
        for request_id in ids[start : start + _BATCH]:
            _strip(traces.filter(pk=request_id))
        done = min(start + _BATCH, len(ids))
        logger.info("%d of %d traces have their own texts alone", done, len(ids))


def _strip(trace):
    blob = trace.values_list("blob", flat=True).first()
    if blob is None:  # deleted meanwhile
        return
    before = bytes(blob)
    try:
        after = stripped(before)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, zstandard.ZstdError) as error:
        logger.warning("the trace of %s cannot be read: %s", trace.values_list("pk", flat=True).first(), error)
        return
    if after != before:
        trace.update(blob=after)


def stripped(data):
    """The same file, its comparison without the texts of the turn before; the same bytes where it has none."""
    start = len(_MAGIC) + _DIGEST_BYTES
    body = data[start:]
    if data[:start] != _MAGIC + hashlib.sha256(body).digest():
        raise ValueError("it is no trace file, or damaged")
    reader = zstandard.ZstdDecompressor(max_window_size=64 << 20).stream_reader(body)
    document = msgspec.msgpack.decode(reader.read(_MAX_UNPACKED_BYTES), type=dict[str, msgspec.Raw])
    before = msgspec.json.decode(msgspec.msgpack.decode(document["events"], type=bytes), type=list[msgspec.Raw])
    after = [_own(event) for event in before]
    if after == before:
        return data
    document["events"] = msgspec.Raw(msgspec.msgpack.encode(msgspec.json.encode(after)))
    body = zstandard.ZstdCompressor(level=_LEVEL).compress(msgspec.msgpack.encode(document))
    return _MAGIC + hashlib.sha256(body).digest() + body


def _own(raw):
    """An event's JSON; of the turn before, counts, places and sources are left."""
    if b'"context.compared"' not in bytes(raw):
        return raw
    event = msgspec.json.decode(raw)
    if event["type"] != "context.compared":
        return raw
    texts = [*event["changed"], *event["removed"]]
    if not event.get("there") and not any(each.get("text") for each in texts):
        return raw
    if event.get("is_number") is None and event.get("there"):
        event["is_number"] = all(map(_begins_with_digit, (event["here"], event["there"])))
    event["there"] = []
    for each in texts:
        each["text"] = ""
    return msgspec.Raw(msgspec.json.encode(event))


def _begins_with_digit(pieces):
    return bool(pieces) and base64.b64decode(pieces[0]).lstrip()[:1].isdigit()


def delete_what_nothing_shows(apps, schema_editor):
    """Answers whose trace was deleted and then their conversation, and sets without a run left."""
    requests = apps.get_model("lifecycle", "Request").objects.filter(finished_at__isnull=False)
    requests.filter(message=None, trace=None, run=None).delete()
    apps.get_model("reruns", "Rerun").objects.filter(runs=None).delete()


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("chat", "0002_number_of_answers"),
        ("lifecycle", "0003_fork"),
        ("reruns", "0001_reruns"),
        ("traces", "0004_sharing_and_retention"),
    ]

    operations = [
        migrations.RunPython(strip_texts_of_others, migrations.RunPython.noop),
        migrations.RunPython(delete_what_nothing_shows, migrations.RunPython.noop, atomic=True),
    ]
