from django.db import migrations


class Migration(migrations.Migration):
    """By itself: PostgreSQL changes no table to which rows of the same transaction refer."""

    dependencies = [("traces", "0002_library")]

    operations = [migrations.RemoveField(model_name="trace", name="search_text")]
