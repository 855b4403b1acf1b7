"""Moves the keys of sent messages to the table that holds those of every call."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def move(apps: Any, schema_editor: Any) -> None:
    delivery = apps.get_model("lifecycle", "Delivery")
    for row in apps.get_model("chat", "Delivery").objects.iterator():
        ids = [row.question_id, *row.answer_ids]
        made = delivery(user_id=row.user_id, key=row.key, digest=row.digest, first_id=ids[0], ids=ids)
        made.save()
        delivery.objects.filter(pk=made.pk).update(created_at=row.created_at)


class Migration(migrations.Migration):
    dependencies = [("chat", "0004_pins_and_imports"), ("lifecycle", "0011_delivery")]
    operations = [migrations.RunPython(move, migrations.RunPython.noop), migrations.DeleteModel(name="Delivery")]
