from typing import Any

from django.db import migrations, models


def mark_batches(apps: Any, _editor: Any) -> None:
    """Until now the version of the prices told that a request was of a batch, and without prices its row alone."""
    records = apps.get_model("usage", "UsageRecord").objects
    of_batches = apps.get_model("lifecycle", "Request").objects.filter(batch_id__isnull=False).values("pk")
    told = models.Q(price_version__endswith=", half price for a batch")
    records.filter(told | models.Q(request_id__in=of_batches)).update(is_batch=True)


class Migration(migrations.Migration):
    dependencies = [("usage", "0001_first"), ("lifecycle", "0001_first")]

    operations = [
        migrations.AddField("usagerecord", "is_batch", models.BooleanField(default=False)),
        migrations.RunPython(mark_batches, migrations.RunPython.noop),
    ]
