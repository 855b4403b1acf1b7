import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('mcpclient', '0001_mcp_servers'),
        ('mcpclient', '0002_changed_tools'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='McpServer',
            fields=[
                ('name', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('read_at', models.DateTimeField(null=True)),
                ('error', models.TextField(blank=True)),
                ('left_out', models.JSONField(default=list)),
            ],
            options={
                'verbose_name': 'MCP server',
                'ordering': ['name'],
                'default_permissions': ('change',),
            },
        ),
        migrations.CreateModel(
            name='McpTool',
            fields=[
                ('id', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('server', models.CharField(max_length=40)),
                ('name', models.CharField(max_length=128)),
                ('definition', models.TextField()),
                ('former', models.TextField(blank=True)),
                ('is_changed', models.BooleanField(default=False)),
                ('is_listed', models.BooleanField(default=True)),
                ('approved_at', models.DateTimeField(null=True)),
                ('asks_user', models.BooleanField(default=True)),
                ('approver', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'tool of an MCP server',
                'verbose_name_plural': 'tools of MCP servers',
                'ordering': ['server', 'name'],
                'default_permissions': ('change',),
                'constraints': [models.UniqueConstraint(fields=('server', 'name'), name='a_definition_of_each_tool')],
            },
        ),
    ]
