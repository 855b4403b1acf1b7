from typing import Any

from django.db import migrations, models


def mark_batches(apps: Any, _editor: Any) -> None:
    """Until now only the version of the prices told that a request was of a batch."""
    records = apps.get_model("usage", "UsageRecord").objects
    records.filter(price_version__endswith=", half price for a batch").update(is_batch=True)


class Migration(migrations.Migration):
    dependencies = [("usage", "0001_first")]

    operations = [
        migrations.AddField("usagerecord", "is_batch", models.BooleanField(default=False)),
        migrations.RunPython(mark_batches, migrations.RunPython.noop),
    ]
