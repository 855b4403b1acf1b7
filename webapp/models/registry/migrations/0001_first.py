import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('registry', '0001_initial'),
        ('registry', '0002_pictures'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RegisteredModel',
            fields=[
                ('id', models.CharField(max_length=128, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('gguf', 'Gguf'), ('safetensors', 'Safetensors'), ('remote', 'Remote')], max_length=16)),
                ('path', models.CharField(max_length=1000)),
                ('url', models.CharField(blank=True, max_length=500)),
                ('key', models.CharField(blank=True, max_length=500)),
                ('has_vision', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('checking', 'Checking'), ('failed', 'Failed'), ('enabled', 'Enabled'), ('drained', 'Drained'), ('retired', 'Retired')], max_length=16)),
                ('is_default', models.BooleanField(default=False)),
                ('is_configured', models.BooleanField(default=False)),
                ('num_workers', models.PositiveSmallIntegerField(default=1)),
                ('run', models.PositiveIntegerField(default=0)),
                ('message', models.TextField(blank=True)),
                ('check_request_id', models.CharField(blank=True, max_length=32)),
                ('check_begun_at', models.DateTimeField(null=True)),
                ('checked_at', models.DateTimeField(null=True)),
                ('first_token_ms', models.FloatField(null=True)),
                ('tokens_per_s', models.FloatField(null=True)),
                ('text', models.TextField(blank=True)),
                ('checker', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'model',
                'ordering': ['-is_default', 'id'],
                'default_permissions': ('change',),
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('is_default',), name='one_default'), models.UniqueConstraint(condition=models.Q(('is_configured', True)), fields=('is_configured',), name='one_configured')],
            },
        ),
    ]
