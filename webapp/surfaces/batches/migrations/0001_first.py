import django.db.models.deletion
import django.utils.timezone
import webapp.identifiers
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('batches', '0001_batches'),
        ('batches', '0002_costs_and_sizes'),
        ('batches', '0003_batches_of_sign_ins'),
    ]

    dependencies = [
        ('keys', '0001_api_key'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('id', models.CharField(editable=False, max_length=40, primary_key=True, serialize=False)),
                ('is_of_sign_in', models.BooleanField(default=False)),
                ('family', models.CharField(max_length=16)),
                ('endpoint', models.CharField(max_length=32)),
                ('model_ids', models.JSONField(default=list)),
                ('input_file', models.CharField(blank=True, max_length=40)),
                ('metadata', models.JSONField(null=True)),
                ('errors', models.JSONField(default=list)),
                ('output_expires_s', models.PositiveIntegerField(null=True)),
                ('status', models.CharField(choices=[('validating', 'Validating'), ('in_progress', 'In Progress'), ('finalizing', 'Finalizing'), ('completed', 'Completed'), ('cancelling', 'Cancelling'), ('cancelled', 'Cancelled'), ('failed', 'Failed'), ('expired', 'Expired')], default='validating', max_length=16)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('in_progress_at', models.DateTimeField(null=True)),
                ('cancelling_at', models.DateTimeField(null=True)),
                ('finalizing_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField()),
                ('resumes_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('num_stored_bytes', models.PositiveBigIntegerField(default=0)),
                ('key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='keys.apikey')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='batches', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['user', '-created_at', '-id'], name='batches_of_user'), models.Index(condition=models.Q(('ended_at', None)), fields=['status'], name='open_batches')],
            },
        ),
        migrations.CreateModel(
            name='Line',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.PositiveIntegerField()),
                ('custom_id', models.CharField(max_length=256)),
                ('model', models.CharField(max_length=128)),
                ('body', models.TextField()),
                ('status', models.CharField(choices=[('waiting', 'Waiting'), ('open', 'Open'), ('succeeded', 'Succeeded'), ('errored', 'Errored'), ('canceled', 'Canceled'), ('expired', 'Expired')], default='waiting', max_length=16)),
                ('request_ids', models.JSONField(default=list)),
                ('num_tries', models.PositiveSmallIntegerField(default=0)),
                ('answer', models.TextField(blank=True)),
                ('num_bytes', models.PositiveIntegerField(default=0)),
                ('num_input_tokens', models.PositiveIntegerField(default=0)),
                ('num_cached_tokens', models.PositiveIntegerField(default=0)),
                ('num_output_tokens', models.PositiveIntegerField(default=0)),
                ('cost_nano', models.BigIntegerField(null=True)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('error', models.CharField(blank=True, max_length=500)),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='batches.batch')),
            ],
            options={
                'ordering': ['index'],
                'indexes': [models.Index(fields=['batch', 'status', 'index'], name='lines_by_status')],
                'constraints': [models.UniqueConstraint(fields=('batch', 'index'), name='one_line_per_index'), models.UniqueConstraint(fields=('batch', 'custom_id'), name='one_line_per_custom_id')],
            },
        ),
        migrations.CreateModel(
            name='StoredFile',
            fields=[
                ('id', models.CharField(default=webapp.identifiers.new_file_id, editable=False, max_length=40, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('part', models.CharField(blank=True, choices=[('', 'input'), ('output', 'Output'), ('errors', 'Errors')], max_length=8)),
                ('content', models.TextField(blank=True)),
                ('num_bytes', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField(null=True)),
                ('batch', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='files', to='batches.batch')),
                ('key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='keys.apikey')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['user', '-created_at', '-id'], name='files_of_user')],
            },
        ),
    ]
