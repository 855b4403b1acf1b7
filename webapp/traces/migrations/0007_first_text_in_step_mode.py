import logging

from django.db import migrations
from django.db.models import Q

logger = logging.getLogger(__name__)


def leave_out_choices(apps, schema_editor):
    """The time to the first text held what a person took to choose tokens before it; their traces tell."""
    requests = apps.get_model("lifecycle", "Request").objects
    # Of an imported one only the trace tells whether it was in step mode.
    maybe_stepped = requests.filter(Q(input__is_stepped=True) | Q(is_imported=True), trace__isnull=False)
    for request_id in list(maybe_stepped.filter(first_token_us__isnull=False).values_list("pk", flat=True)):
        _leave_out(requests.filter(pk=request_id))


def _leave_out(request):
    # Only where there is such a row: step mode is younger than every form of a trace file that is still read.
    from webapp.requests.outcome import fold
    from webapp.traces.file.archive import TraceFileError, decode

    request_id, blob = request.values_list("pk", "trace__blob").get()
    try:
        request.update(first_token_us=fold(decode(bytes(blob)).frames).first_text_us)
    except TraceFileError as error:
        logger.warning("the trace of %s cannot be read: %s", request_id, error)


class Migration(migrations.Migration):
    dependencies = [
        ("lifecycle", "0005_figures_of_former_requests"),
        ("traces", "0006_free_pages"),
    ]

    operations = [migrations.RunPython(leave_out_choices, migrations.RunPython.noop)]
