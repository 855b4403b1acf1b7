import django.db.models.deletion
import webapp.identifiers
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('reruns', '0001_reruns'),
        ('reruns', '0002_kinds_of_input'),
        ('reruns', '0003_api_key'),
        ('reruns', '0004_stop_reason'),
    ]

    dependencies = [
        ('keys', '0001_api_key'),
        ('lifecycle', '0001_first'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Rerun',
            fields=[
                ('id', models.CharField(default=webapp.identifiers.new_rerun_id, editable=False, max_length=32, primary_key=True, serialize=False)),
                ('title', models.CharField(max_length=200)),
                ('model', models.CharField(max_length=128)),
                ('input', models.JSONField()),
                ('params', models.JSONField()),
                ('seeds', models.CharField(choices=[('same', 'Same'), ('fresh', 'Fresh')], max_length=8)),
                ('n', models.PositiveSmallIntegerField()),
                ('grid', models.JSONField(default=dict)),
                ('prompt_check', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('stopped_at', models.DateTimeField(null=True)),
                ('stop_reason', models.TextField(blank=True)),
                ('key', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='keys.apikey')),
                ('original', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reruns', to='lifecycle.request')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reruns', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['user', '-created_at'], name='reruns_of_user')],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.PositiveSmallIntegerField()),
                ('settings', models.JSONField(default=dict)),
                ('params', models.JSONField()),
                ('num_tries', models.PositiveSmallIntegerField(default=0)),
                ('request', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='run', to='lifecycle.request')),
                ('rerun', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='reruns.rerun')),
            ],
            options={
                'ordering': ['index'],
                'constraints': [models.UniqueConstraint(fields=('rerun', 'index'), name='one_run_per_index')],
            },
        ),
    ]
