import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('traces', '0001_initial'),
        ('traces', '0002_library'),
        ('traces', '0003_search_text_moved'),
        ('traces', '0004_sharing_and_retention'),
        ('traces', '0005_what_is_deleted_is_gone'),
        ('traces', '0006_free_pages'),
        ('traces', '0007_first_text_in_step_mode'),
        ('traces', '0008_imports_known_again'),
        ('traces', '0009_first_text_in_views'),
        ('traces', '0010_site_retention'),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('lifecycle', '0001_first'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Trace',
            fields=[
                ('request', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='trace', serialize=False, to='lifecycle.request')),
                ('blob', models.BinaryField()),
                ('observed', models.JSONField(null=True)),
                ('saved_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'permissions': [('view_any_trace', 'Can read the traces of all users, texts included')],
            },
        ),
        migrations.CreateModel(
            name='RetentionRule',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('keep_days', models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('trace', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='entry', serialize=False, to='traces.trace')),
                ('search_text', models.TextField(blank=True)),
                ('is_pinned', models.BooleanField(default=False)),
                ('note', models.TextField(blank=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('is_pinned', True)), fields=['trace'], name='pinned')],
            },
        ),
        migrations.CreateModel(
            name='Import',
            fields=[
                ('trace', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='imported', serialize=False, to='traces.trace')),
                ('events_sha256', models.CharField(max_length=64)),
                ('redacted_sha256', models.CharField(max_length=64)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['user', 'redacted_sha256'], name='redacted_import')],
                'constraints': [models.UniqueConstraint(fields=('user', 'events_sha256'), name='an_import_once')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('query', models.TextField(blank=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'name'), name='a_view_once')],
            },
        ),
        migrations.CreateModel(
            name='Share',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_sha256', models.CharField(max_length=64, unique=True)),
                ('is_redacted', models.BooleanField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('trace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='traces.trace')),
            ],
        ),
        migrations.CreateModel(
            name='SiteRetentionRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('keep_days', models.PositiveIntegerField()),
                ('group', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
            ],
            options={
                'verbose_name': 'retention rule',
                'constraints': [models.UniqueConstraint(models.Value(1), condition=models.Q(('group', None)), name='one_rule_for_all')],
            },
        ),
        migrations.CreateModel(
            name='Tag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tags', to='traces.entry')),
            ],
            options={
                'indexes': [models.Index(fields=['name'], name='traces_tag_name_2833da_idx')],
                'constraints': [models.UniqueConstraint(fields=('entry', 'name'), name='a_tag_once')],
            },
        ),
    ]
