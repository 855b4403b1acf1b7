"""Prices of the bundled model, so that every new installation has a bill to show."""

from datetime import date

from django.db import migrations

UNIT_PRICES_NANO = {
    "uncached_input": 20,
    "cache_read": 2,
    "cache_write_5m": 25,
    "cache_write_1h": 40,
    "output": 80,
}


def add_prices(apps, schema_editor):
    price = apps.get_model("billing", "Price")
    for kind, unit_price_nano in UNIT_PRICES_NANO.items():
        price.objects.create(
            model="smollm2-135m-instruct",
            kind=kind,
            unit_price_nano=unit_price_nano,
            currency="USD",
            effective_from=date(2026, 1, 1),
        )


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_initial")]
    operations = [migrations.RunPython(add_prices, migrations.RunPython.noop)]
