import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('limits', '0001_initial'),
        ('limits', '0002_rates_budgets_and_shared_rules'),
        ('limits', '0003_limits_of_keys'),
        ('limits', '0004_prices_of_reservations'),
        ('limits', '0005_limits_of_owners'),
        ('limits', '0006_held_budgets'),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('keys', '0001_api_key'),
        ('lifecycle', '0001_first'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Reservation',
            fields=[
                ('nano', models.PositiveBigIntegerField()),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('price_version', models.CharField(blank=True, max_length=64)),
                ('unit_nano', models.JSONField(default=dict)),
                ('request', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='lifecycle.request')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('nano', models.PositiveBigIntegerField()),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('price_version', models.CharField(blank=True, max_length=64)),
                ('unit_nano', models.JSONField(default=dict)),
                ('request_id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('model', models.CharField(max_length=128)),
                ('ends_at', models.DateTimeField()),
                ('key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='keys.apikey')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='SharedRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('max_open', models.PositiveIntegerField(null=True)),
                ('requests_per_minute', models.PositiveIntegerField(null=True)),
                ('input_tokens_per_minute', models.PositiveIntegerField(null=True)),
                ('output_tokens_per_minute', models.PositiveIntegerField(null=True)),
                ('tokens_per_day', models.PositiveBigIntegerField(null=True)),
                ('daily_budget_nano', models.PositiveBigIntegerField(null=True)),
                ('monthly_budget_nano', models.PositiveBigIntegerField(null=True)),
                ('subject', models.CharField(max_length=160, unique=True)),
                ('model', models.CharField(blank=True, max_length=128)),
                ('is_of_owners', models.BooleanField(default=False)),
                ('group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                ('key', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limits_rule', to='keys.apikey')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Rule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('max_open', models.PositiveIntegerField(null=True)),
                ('requests_per_minute', models.PositiveIntegerField(null=True)),
                ('input_tokens_per_minute', models.PositiveIntegerField(null=True)),
                ('output_tokens_per_minute', models.PositiveIntegerField(null=True)),
                ('tokens_per_day', models.PositiveBigIntegerField(null=True)),
                ('daily_budget_nano', models.PositiveBigIntegerField(null=True)),
                ('monthly_budget_nano', models.PositiveBigIntegerField(null=True)),
                ('is_site', models.BooleanField(default=False)),
                ('may_share', models.BooleanField(null=True)),
                ('may_probe', models.BooleanField(null=True)),
                ('may_rerun', models.BooleanField(null=True)),
                ('is_stopped', models.BooleanField(default=False)),
                ('stop_reason', models.TextField(blank=True)),
                ('group', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limits_rule', to='auth.group')),
                ('user', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limits_rule', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'permissions': [('stop_user', "Can stop a user's requests and sending")],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('group', None), ('is_site', False), ('user__isnull', False)), models.Q(('group__isnull', False), ('is_site', False), ('user', None)), models.Q(('group', None), ('is_site', True), ('user', None)), _connector='OR'), name='a_rule_has_one_subject'), models.UniqueConstraint(condition=models.Q(('is_site', True)), fields=('is_site',), name='one_rule_of_the_site')],
            },
        ),
    ]
