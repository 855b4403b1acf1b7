from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('usage', '0003_api_key'),
    ]

    operations = [
        migrations.AddField(
            model_name='usagerecord',
            name='thinking',
            field=models.BigIntegerField(null=True),
        ),
    ]
