from datetime import UTC, datetime, timedelta

from django.db import migrations
from django.db.models import BigIntegerField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

_INPUT = ("uncached_input", "cache_read", "cache_write_5m", "cache_write_1h")


def count_tokens(apps, schema_editor):
    """A list is sorted by columns; the usage is JSON."""
    requests = apps.get_model("lifecycle", "Request").objects.filter(usage__isnull=False)
    requests.update(num_input_tokens=sum(map(_figure, _INPUT), Value(0)), num_output_tokens=_figure("output"))


def _figure(kind):
    return Coalesce(Cast(KT(f"usage__{kind}"), BigIntegerField()), 0)


def date_imports(apps, schema_editor):
    """They stood in the list under the time of their import, which `finished_at` tells too."""
    requests = apps.get_model("lifecycle", "Request").objects
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for pk, us in requests.filter(is_imported=True).values_list("pk", "accepted_unix_us").iterator():
        made_at = epoch + timedelta(microseconds=us)
        requests.filter(pk=pk, finished_at__gt=made_at).update(created_at=made_at)


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0004_sorting_and_imports")]

    operations = [
        migrations.RunPython(count_tokens, migrations.RunPython.noop),
        migrations.RunPython(date_imports, migrations.RunPython.noop),
    ]
