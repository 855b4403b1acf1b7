import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('usage', '0001_initial'),
        ('usage', '0002_records_of_earlier_requests'),
        ('usage', '0003_api_key'),
        ('usage', '0004_thinking'),
    ]

    dependencies = [
        ('keys', '0001_api_key'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='SpeedSketch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('span', models.CharField(choices=[('hour', 'hour'), ('day', 'day')], max_length=4)),
                ('start', models.DateTimeField()),
                ('model', models.CharField(max_length=128)),
                ('surface', models.CharField(max_length=16)),
                ('sketch', models.BinaryField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('span', 'start', 'model', 'surface'), name='one_speed_sketch')],
            },
        ),
        migrations.CreateModel(
            name='UsageSum',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=128)),
                ('surface', models.CharField(max_length=16)),
                ('status', models.CharField(max_length=16)),
                ('error_code', models.CharField(blank=True, max_length=32)),
                ('verdict', models.CharField(blank=True, max_length=8)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('uncached_input', models.BigIntegerField(default=0)),
                ('cache_read', models.BigIntegerField(default=0)),
                ('cache_write_5m', models.BigIntegerField(default=0)),
                ('cache_write_1h', models.BigIntegerField(default=0)),
                ('output', models.BigIntegerField(default=0)),
                ('span', models.CharField(choices=[('hour', 'hour'), ('day', 'day')], max_length=4)),
                ('start', models.DateTimeField()),
                ('num_requests', models.BigIntegerField(default=0)),
                ('num_unpriced', models.BigIntegerField(default=0)),
                ('cache_unknown_input', models.BigIntegerField(default=0)),
                ('cost_nano', models.BigIntegerField(default=0)),
                ('saved_nano', models.BigIntegerField(default=0)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('span', 'start', 'model', 'surface', 'status', 'error_code', 'verdict', 'currency'), name='one_usage_sum')],
            },
        ),
        migrations.CreateModel(
            name='UsageRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=128)),
                ('surface', models.CharField(max_length=16)),
                ('status', models.CharField(max_length=16)),
                ('error_code', models.CharField(blank=True, max_length=32)),
                ('verdict', models.CharField(blank=True, max_length=8)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('uncached_input', models.BigIntegerField(default=0)),
                ('cache_read', models.BigIntegerField(default=0)),
                ('cache_write_5m', models.BigIntegerField(default=0)),
                ('cache_write_1h', models.BigIntegerField(default=0)),
                ('output', models.BigIntegerField(default=0)),
                ('request_id', models.CharField(max_length=32, unique=True)),
                ('accepted_at', models.DateTimeField()),
                ('thinking', models.BigIntegerField(null=True)),
                ('is_cache_known', models.BooleanField(null=True)),
                ('price_version', models.CharField(blank=True, max_length=64)),
                ('cost_nano', models.BigIntegerField(null=True)),
                ('saved_nano', models.BigIntegerField(null=True)),
                ('queue_us', models.BigIntegerField(null=True)),
                ('first_token_us', models.BigIntegerField(null=True)),
                ('first_text_us', models.BigIntegerField(null=True)),
                ('per_token_us', models.BigIntegerField(null=True)),
                ('duration_us', models.BigIntegerField(null=True)),
                ('finish_reason', models.CharField(blank=True, max_length=16)),
                ('input_verdict', models.CharField(blank=True, max_length=8)),
                ('output_verdict', models.CharField(blank=True, max_length=8)),
                ('worker', models.CharField(blank=True, max_length=64)),
                ('num_attempts', models.PositiveIntegerField(default=0)),
                ('is_demo', models.BooleanField(default=False)),
                ('key', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='keys.apikey')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['accepted_at'], name='usage_usage_accepte_0a1f46_idx'), models.Index(fields=['user', 'accepted_at'], name='usage_usage_user_id_8a5c60_idx'), models.Index(condition=models.Q(('key__isnull', False)), fields=['key', 'accepted_at'], name='usage_by_key')],
            },
        ),
        migrations.CreateModel(
            name='UserSum',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uncached_input', models.BigIntegerField(default=0)),
                ('cache_read', models.BigIntegerField(default=0)),
                ('cache_write_5m', models.BigIntegerField(default=0)),
                ('cache_write_1h', models.BigIntegerField(default=0)),
                ('output', models.BigIntegerField(default=0)),
                ('span', models.CharField(choices=[('hour', 'hour'), ('day', 'day')], max_length=4)),
                ('start', models.DateTimeField()),
                ('num_requests', models.BigIntegerField(default=0)),
                ('num_unpriced', models.BigIntegerField(default=0)),
                ('cache_unknown_input', models.BigIntegerField(default=0)),
                ('cost_nano', models.BigIntegerField(default=0)),
                ('saved_nano', models.BigIntegerField(default=0)),
                ('status', models.CharField(max_length=16)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('span', 'start', 'user', 'status', 'currency'), name='one_user_sum')],
            },
        ),
    ]
