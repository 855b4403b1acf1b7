"""Names the kind of each request's input, which was told by its fields."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def kind_of(source: dict[str, Any]) -> dict[str, Any]:
    if "messages" not in source:
        return {"kind": "none"}
    shared = {"messages": source["messages"]}
    if "saved" in source:
        return {"kind": "saved", **shared, **source["saved"]}
    stepped = {"is_stepped": bool(source.get("is_stepped"))}
    if "fork" in source:
        return {"kind": "fork", **shared, **source["fork"], **stepped}
    return {"kind": "messages", **shared, **stepped}


def name_kinds(apps: Any, _: Any) -> None:
    requests = apps.get_model("lifecycle", "Request").objects
    for pk, source in requests.values_list("pk", "input").iterator(chunk_size=500):
        if "kind" not in source:
            requests.filter(pk=pk).update(input=kind_of(source))


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0008_first_token_in_the_library")]
    operations = [migrations.RunPython(name_kinds, migrations.RunPython.noop, elidable=True)]
