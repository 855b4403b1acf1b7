"""What traces and rows of former versions still told of what was deleted."""

import logging

from django.db import migrations

from webapp.traces.archive import TraceFileError, changed
from webapp.traces.own import own_event

logger = logging.getLogger(__name__)


def strip_texts_of_others(apps, schema_editor):
    """A trace quoted the turn before, also when that was deleted."""
    traces = apps.get_model("traces", "Trace").objects
    for request_id in list(traces.values_list("pk", flat=True)):
        before = bytes(traces.values_list("blob", flat=True).get(pk=request_id))
        try:
            after = changed(before, own_event)
        except TraceFileError as error:
            logger.warning("the trace of %s cannot be read: %s", request_id, error)
            continue
        if after != before:
            traces.filter(pk=request_id).update(blob=after)


def delete_what_nothing_shows(apps, schema_editor):
    """Answers whose trace was deleted and then their conversation, and sets without a run left."""
    requests = apps.get_model("lifecycle", "Request").objects.filter(finished_at__isnull=False)
    requests.filter(message=None, trace=None, run=None).delete()
    apps.get_model("reruns", "Rerun").objects.filter(runs=None).delete()


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0002_number_of_answers"),
        ("lifecycle", "0003_fork"),
        ("reruns", "0001_reruns"),
        ("traces", "0004_sharing_and_retention"),
    ]

    operations = [
        migrations.RunPython(strip_texts_of_others, migrations.RunPython.noop),
        migrations.RunPython(delete_what_nothing_shows, migrations.RunPython.noop),
    ]
