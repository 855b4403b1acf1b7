import django.db.models.deletion
import django.utils.timezone
import webapp.identifiers
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('chat', '0001_initial'),
        ('chat', '0002_number_of_answers'),
        ('chat', '0003_deliveries'),
        ('chat', '0004_pins_and_imports'),
        ('chat', '0005_delete_delivery'),
        ('chat', '0006_tools'),
        ('chat', '0007_memory'),
        ('chat', '0008_summaries'),
        ('chat', '0009_new_chats'),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('lifecycle', '0001_first'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='NewChats',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='new_chats', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('tools', models.JSONField(default=list)),
                ('memory', models.BooleanField(default=True)),
                ('speculation', models.BooleanField(default=True)),
            ],
            options={
                'verbose_name_plural': 'new chats',
            },
        ),
        migrations.CreateModel(
            name='Conversation',
            fields=[
                ('id', models.CharField(default=webapp.identifiers.new_conversation_id, editable=False, max_length=32, primary_key=True, serialize=False)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('model', models.CharField(max_length=128)),
                ('system_prompt', models.TextField(blank=True)),
                ('params', models.JSONField(default=dict)),
                ('n', models.PositiveSmallIntegerField(default=1)),
                ('tools', models.JSONField(default=list)),
                ('memory', models.BooleanField(default=True)),
                ('speculation', models.BooleanField(default=True)),
                ('window_policy', models.CharField(choices=[('keep', 'Keep'), ('drop', 'Drop'), ('summarise', 'Summarise')], default='drop', max_length=16)),
                ('leaf_id', models.CharField(blank=True, max_length=32)),
                ('is_pinned', models.BooleanField(default=False)),
                ('import_digest', models.CharField(blank=True, max_length=64)),
                ('num_imported_bytes', models.BigIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversations', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['user', '-updated_at'], name='chat_conver_user_id_e2a76b_idx')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('import_digest', ''), _negated=True), fields=('user', 'import_digest'), name='imported_once')],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.CharField(default=webapp.identifiers.new_message_id, editable=False, max_length=32, primary_key=True, serialize=False)),
                ('role', models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant')], max_length=16)),
                ('user_text', models.TextField(blank=True)),
                ('is_imported', models.BooleanField(default=False)),
                ('imported_text', models.TextField(blank=True)),
                ('imported_model', models.CharField(blank=True, max_length=128)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='chat.conversation')),
                ('parent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='chat.message')),
                ('request', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='message', to='lifecycle.request')),
            ],
            options={
                'ordering': ['created_at'],
            },
        ),
        migrations.CreateModel(
            name='Summary',
            fields=[
                ('id', models.CharField(default=webapp.identifiers.new_summary_id, editable=False, max_length=32, primary_key=True, serialize=False)),
                ('covered', models.JSONField(default=list)),
                ('num_turns', models.PositiveIntegerField()),
                ('num_tokens_before', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='summaries', to='chat.conversation')),
                ('request', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='summary', to='lifecycle.request')),
                ('up_to', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chat.message')),
            ],
            options={
                'ordering': ['created_at'],
            },
        ),
    ]
