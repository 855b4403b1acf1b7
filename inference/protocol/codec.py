"""JSON codec of events, frames and generation requests. Knows nothing of transports."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inference.protocol.events import AnyEvent, AnyProbe, Frame
from inference.protocol.experiments import Experiment, ExperimentOutcome
from inference.protocol.request import GenerationRequest, ProbeRequest, StepCommand
from inference.protocol.simulation import Simulation, SimulationRequest

_encoder = msgspec.json.Encoder()
_events_decoder = msgspec.json.Decoder(tuple[AnyEvent, ...])
_frame_decoder = msgspec.json.Decoder(Frame)
_generation_decoder = msgspec.json.Decoder(GenerationRequest)
_step_decoder = msgspec.json.Decoder(StepCommand)
_probe_request_decoder = msgspec.json.Decoder(ProbeRequest)
_simulation_request_decoder = msgspec.json.Decoder(SimulationRequest)
_simulation_decoder = msgspec.json.Decoder(Simulation)
_experiment_decoder = msgspec.json.Decoder(Experiment)
_probe_decoder: msgspec.json.Decoder[AnyProbe] = msgspec.json.Decoder(AnyProbe)


def encode_events(events: Sequence[AnyEvent]) -> bytes:
    """JSON array of events: the part of a frame that its writer knows (the log adds seq)."""
    return _encoder.encode(events)


def decode_events(data: bytes | str) -> tuple[AnyEvent, ...]:
    """Inverse of encode_events. Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _events_decoder.decode(data)


def frame_json(seq: int, frame_id: str, events: bytes) -> bytes:
    """A frame's JSON from its first seq, its id and its already encoded events, without decoding them again."""
    return b'{"seq":%d,"id":"%s","events":%s}' % (seq, frame_id.encode(), events)


def encode_frame(frame: Frame) -> bytes:
    return _encoder.encode(frame)


def decode_frame(data: bytes | str) -> Frame:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _frame_decoder.decode(data)


def encode_generation(generation: GenerationRequest) -> str:
    return _encoder.encode(generation).decode()


def decode_generation(data: bytes | str) -> GenerationRequest:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _generation_decoder.decode(data)


def encode_request(request: ProbeRequest | SimulationRequest | Experiment) -> str:
    return _encoder.encode(request).decode()


def encode_step(command: StepCommand) -> bytes:
    return _encoder.encode(command)


def decode_step(data: bytes | str) -> StepCommand:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _step_decoder.decode(data)


def decode_probe_request(data: bytes | str) -> ProbeRequest:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _probe_request_decoder.decode(data)


def encode_probe(probe: AnyProbe) -> bytes:
    return _encoder.encode(probe)


def decode_probe(data: bytes | str) -> AnyProbe:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _probe_decoder.decode(data)


def decode_simulation_request(data: bytes | str) -> SimulationRequest:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _simulation_request_decoder.decode(data)


def encode_simulation(simulation: Simulation) -> bytes:
    return _encoder.encode(simulation)


def decode_simulation(data: bytes | str) -> Simulation:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _simulation_decoder.decode(data)


def decode_experiment(data: bytes | str) -> Experiment:
    """Raises msgspec.ValidationError or msgspec.DecodeError."""
    return _experiment_decoder.decode(data)


def encode_outcome(outcome: ExperimentOutcome) -> bytes:
    return _encoder.encode(outcome)
