"""Prices of the bundled embedding model, where an operator has set none. It reads input alone."""

from datetime import date

from django.db import migrations

MODEL = "all-minilm-l6-v2"
UNIT_PRICES_NANO = {
    "uncached_input": 5,
    "cache_read": 0,
    "cache_write_5m": 0,
    "cache_write_1h": 0,
    "output": 0,
}


def add_prices(apps, schema_editor):
    price = apps.get_model("billing", "Price")
    if price.objects.filter(model=MODEL).exists():
        return
    price.objects.bulk_create(
        price(
            model=MODEL,
            kind=kind,
            unit_price_nano=unit_price_nano,
            currency="USD",
            effective_from=date(2026, 1, 1),
        )
        for kind, unit_price_nano in UNIT_PRICES_NANO.items()
    )


class Migration(migrations.Migration):
    dependencies = [("billing", "0004_modelname")]
    operations = [migrations.RunPython(add_prices, migrations.RunPython.noop)]
