"""JSON Schema (2020-12) of events and generation requests, with the field docstrings as descriptions."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import cleandoc
from typing import Any, get_args

import msgspec

from inference.protocol import events, experiments, request, simulation
from inference.protocol.docstrings import field_docstrings

ROOTS = (
    events.AnyEvent,
    events.Frame,
    request.GenerationRequest,
    simulation.SimulationRequest,
    simulation.Simulation,
    experiments.ExperimentRequest,
    experiments.ExperimentOutcome,
)


def build_schema() -> dict[str, Any]:
    """One document whose $defs hold every type of the protocol."""
    schemas, components = components_of(ROOTS)
    components["AnyEvent"] = schemas[0]
    for (class_name, field), text in _docstrings().items():
        component = components.get(class_name, {})
        if field in component.get("properties", {}):
            component["properties"][field]["description"] = text
    for field, (least, most) in request.RANGES.items():
        components["SamplingParams"]["properties"][field] |= {"minimum": least, "maximum": most}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sightglass protocol",
        "version": request.PROTOCOL_VERSION,
        "$defs": dict(sorted(components.items())),
    }


def components_of(
    kinds: Iterable[Any], ref_template: str = "#/$defs/{name}"
) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """Return msgspec's references and components. Their descriptions are the same under every Python.

    From 3.13 on the compiler takes the indentation out of docstrings.
    """
    references, components = msgspec.json.schema_components(kinds, ref_template=ref_template)
    for component in components.values():
        if "description" in component:
            component["description"] = cleandoc(component["description"])
    return references, components


def _docstrings() -> dict[tuple[str, str], str]:
    modules = (events, request, simulation, experiments)
    own = {place: text for module in modules for place, text in field_docstrings(module).items()}
    inherited = {
        (kind.__name__, name): own[(base.__name__, name)]
        for base in (events.Event, events.GenerationEvent)
        for kind in get_args(events.AnyEvent)
        for name in base.__struct_fields__
        if issubclass(kind, base) and (base.__name__, name) in own
    }
    return inherited | own
