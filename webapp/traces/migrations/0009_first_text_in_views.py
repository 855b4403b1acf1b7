from django.db import migrations
from django.db.models import F, Value
from django.db.models.functions import Replace


def rename_in_queries(apps, schema_editor):
    """Kept filters and orders name the field."""
    views = apps.get_model("traces", "SavedView").objects.filter(query__contains="first_token_us")
    views.update(query=Replace(F("query"), Value("first_token_us"), Value("first_text_us")))


class Migration(migrations.Migration):
    dependencies = [("traces", "0008_imports_known_again")]

    operations = [migrations.RunPython(rename_in_queries, migrations.RunPython.noop)]
