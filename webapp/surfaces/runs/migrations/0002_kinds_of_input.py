"""Gives each set's input the form of a request's."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def name_kinds(apps: Any, _: Any) -> None:
    sets = apps.get_model("reruns", "Rerun").objects
    for pk, source in sets.values_list("pk", "input").iterator(chunk_size=500):
        if "kind" not in source:
            named = {"kind": "saved", "messages": source.get("messages", []), **source.get("saved", {})}
            sets.filter(pk=pk).update(input=named)


class Migration(migrations.Migration):
    dependencies = [("reruns", "0001_reruns")]
    operations = [migrations.RunPython(name_kinds, migrations.RunPython.noop, elidable=True)]
