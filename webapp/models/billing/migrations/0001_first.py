from datetime import date

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

UNIT_PRICES_NANO = {
    'smollm2-135m-instruct': {
        'uncached_input': 20,
        'cache_read': 2,
        'cache_write_5m': 25,
        'cache_write_1h': 40,
        'output': 80,
    },
    'all-minilm-l6-v2': {  # reads input alone
        'uncached_input': 5,
        'cache_read': 0,
        'cache_write_5m': 0,
        'cache_write_1h': 0,
        'output': 0,
    },
}


def add_prices(apps, schema_editor):
    """Give the bundled models prices, so that every new installation has a bill to show."""
    price = apps.get_model('billing', 'Price')
    price.objects.bulk_create(
        price(model=model, kind=kind, unit_price_nano=nano, currency='USD', effective_from=date(2026, 1, 1))
        for model, prices in UNIT_PRICES_NANO.items()
        for kind, nano in prices.items()
    )


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('billing', '0001_initial'),
        ('billing', '0002_prices'),
        ('billing', '0003_ledgerentry_saved_nano'),
        ('billing', '0004_modelname'),
        ('billing', '0005_embedding_prices'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ModelName',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=128, unique=True)),
                ('name', models.CharField(max_length=60)),
                ('compared', models.TextField(unique=True)),
            ],
        ),
        migrations.CreateModel(
            name='Price',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=128)),
                ('kind', models.CharField(choices=[('uncached_input', 'uncached_input'), ('cache_read', 'cache_read'), ('cache_write_5m', 'cache_write_5m'), ('cache_write_1h', 'cache_write_1h'), ('output', 'output')], max_length=20)),
                ('unit_price_nano', models.BigIntegerField(help_text='Price of one token in billionths of the currency unit.')),
                ('currency', models.CharField(default='USD', max_length=3)),
                ('effective_from', models.DateField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('model', 'kind', 'effective_from'), name='one_price_per_day')],
            },
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request_id', models.CharField(max_length=32, unique=True)),
                ('model', models.CharField(max_length=128)),
                ('posted_at', models.DateTimeField()),
                ('uncached_input', models.PositiveIntegerField()),
                ('cache_read', models.PositiveIntegerField()),
                ('cache_write_5m', models.PositiveIntegerField()),
                ('cache_write_1h', models.PositiveIntegerField()),
                ('output', models.PositiveIntegerField()),
                ('total_nano', models.BigIntegerField()),
                ('saved_nano', models.BigIntegerField(null=True)),
                ('currency', models.CharField(max_length=3)),
                ('price_version', models.CharField(max_length=64)),
                ('lines', models.JSONField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='ledger_entries', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'ledger entries',
                'indexes': [models.Index(fields=['posted_at'], name='billing_led_posted__a13049_idx')],
            },
        ),
        migrations.RunPython(add_prices, migrations.RunPython.noop),
    ]
