import django.db.models.deletion
import django.utils.timezone
import webapp.identifiers
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('lifecycle', '0001_initial'),
        ('lifecycle', '0002_library'),
        ('lifecycle', '0003_fork'),
        ('lifecycle', '0004_sorting_and_imports'),
        ('lifecycle', '0005_figures_of_former_requests'),
        ('lifecycle', '0006_context'),
        ('lifecycle', '0007_first_token_and_outcomes'),
        ('lifecycle', '0008_first_token_in_the_library'),
        ('lifecycle', '0009_kinds_of_input'),
        ('lifecycle', '0010_cache_known'),
        ('lifecycle', '0011_delivery'),
        ('lifecycle', '0012_open_requests'),
        ('lifecycle', '0013_api_key'),
        ('lifecycle', '0014_batch_of_a_request'),
        ('lifecycle', '0015_tools'),
        ('lifecycle', '0016_thinking'),
        ('lifecycle', '0017_agents'),
    ]

    dependencies = [
        ('keys', '0001_api_key'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=128)),
                ('digest', models.CharField(max_length=64)),
                ('first_id', models.CharField(db_index=True, max_length=32)),
                ('ids', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'key'), name='call_key')],
            },
        ),
        migrations.CreateModel(
            name='Request',
            fields=[
                ('id', models.CharField(default=webapp.identifiers.new_request_id, editable=False, max_length=32, primary_key=True, serialize=False)),
                ('batch_id', models.CharField(max_length=40, null=True)),
                ('surface', models.CharField(max_length=16)),
                ('model', models.CharField(max_length=128)),
                ('title', models.CharField(max_length=200)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('stopped', 'Stopped'), ('withheld', 'Withheld'), ('blocked', 'Blocked'), ('failed', 'Failed')], default='queued', max_length=16)),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('input', models.JSONField(default=dict)),
                ('fork_position', models.PositiveIntegerField(null=True)),
                ('num_kept_tokens', models.PositiveIntegerField(null=True)),
                ('params', models.JSONField(default=dict)),
                ('accepted_unix_us', models.BigIntegerField(default=0)),
                ('output_text', models.TextField(blank=True)),
                ('error_stage', models.CharField(blank=True, max_length=32)),
                ('error_code', models.CharField(blank=True, max_length=32)),
                ('error_message', models.TextField(blank=True)),
                ('thinking', models.JSONField(null=True)),
                ('rounds', models.JSONField(null=True)),
                ('finish_reason', models.CharField(blank=True, max_length=16)),
                ('usage', models.JSONField(null=True)),
                ('is_cache_known', models.BooleanField(null=True)),
                ('num_input_tokens', models.BigIntegerField(null=True)),
                ('num_output_tokens', models.BigIntegerField(null=True)),
                ('context', models.JSONField(null=True)),
                ('cost_nano', models.BigIntegerField(null=True)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('first_token_us', models.BigIntegerField(null=True)),
                ('between_tokens_us', models.JSONField(null=True)),
                ('first_text_us', models.BigIntegerField(null=True)),
                ('duration_us', models.BigIntegerField(null=True)),
                ('num_events', models.PositiveIntegerField(default=0)),
                ('safety_verdict', models.CharField(max_length=8, null=True)),
                ('safety_layers', models.JSONField(null=True)),
                ('is_imported', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(null=True)),
                ('agent_of', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='agents', to='lifecycle.request')),
                ('forked_from', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='forks', to='lifecycle.request')),
                ('key', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='keys.apikey')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='requests', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['user', '-created_at', '-id', 'finished_at', 'status', 'finish_reason', 'safety_verdict', 'surface', 'model', 'first_token_us', 'first_text_us', 'duration_us', 'cost_nano', 'currency', 'num_input_tokens', 'num_output_tokens', 'is_imported'], name='library'), models.Index(condition=models.Q(('is_imported', True)), fields=['user', 'accepted_unix_us'], name='imported'), models.Index(condition=models.Q(('finished_at', None)), fields=['model'], name='open_requests'), models.Index(condition=models.Q(('agent_of__isnull', False)), fields=['agent_of'], name='agents_of_requests'), models.Index(condition=models.Q(('key__isnull', False)), fields=['key'], name='requests_by_key')],
            },
        ),
    ]
