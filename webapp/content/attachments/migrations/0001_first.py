import django.db.models.deletion
import django.utils.timezone
import webapp.identifiers
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('attachments', '0001_initial'),
        ('attachments', '0002_attachment_flagged_as'),
        ('attachments', '0003_pictures'),
    ]

    dependencies = [
        ('chat', '0001_first'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.CharField(default=webapp.identifiers.new_attachment_id, editable=False, max_length=32, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120)),
                ('media_type', models.CharField(blank=True, max_length=128)),
                ('num_bytes', models.PositiveBigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('width', models.PositiveIntegerField(null=True)),
                ('height', models.PositiveIntegerField(null=True)),
                ('is_of_call', models.BooleanField(default=False)),
                ('text', models.TextField(blank=True)),
                ('model', models.CharField(max_length=128)),
                ('num_tokens', models.PositiveIntegerField(null=True)),
                ('num_passages', models.PositiveIntegerField(default=0)),
                ('status', models.CharField(choices=[('reading', 'Reading'), ('ready', 'Ready'), ('refused', 'Refused')], default='reading', max_length=16)),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('is_flagged', models.BooleanField(default=False)),
                ('flagged_as', models.JSONField(default=list)),
                ('percent', models.PositiveSmallIntegerField(default=0)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('touched_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to=settings.AUTH_USER_MODEL)),
                ('conversation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='chat.conversation')),
            ],
            options={
                'indexes': [models.Index(fields=['user', 'created_at'], name='attachments_user_id_f88a56_idx'), models.Index(fields=['user', 'sha256'], name='attachments_user_id_8c37a8_idx')],
            },
        ),
        migrations.CreateModel(
            name='Carried',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='carried', to='chat.message')),
                ('attachment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='carried', to='attachments.attachment')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('message', 'attachment'), name='carried_once')],
            },
        ),
        migrations.CreateModel(
            name='Passage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('start', models.PositiveIntegerField()),
                ('end', models.PositiveIntegerField()),
                ('vector', models.BinaryField()),
                ('attachment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='attachments.attachment')),
            ],
            options={
                'ordering': ['number'],
                'constraints': [models.UniqueConstraint(fields=('attachment', 'number'), name='passage_once')],
            },
        ),
        migrations.CreateModel(
            name='Content',
            fields=[
                ('attachment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='content', serialize=False, to='attachments.attachment')),
                ('data', models.BinaryField()),
            ],
        ),
    ]
