"""A Hugging Face config.json read as a ModelConfig. Knows nothing of tensors.

Follows the configuration classes of transformers, in two forms. Version 5 writes rope_parameters and layer_types. Most
published folders have the older form (rope_theta, rope_scaling, sliding_window_pattern).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inference.modelfiles.errors import damaged, unsupported
from inference.modelfiles.fields import Fields
from inference.models.config import MAX_LAYERS, MAX_WIDTH, ModelConfig
from inference.models.sources.families import FAMILIES, Family, llama3_divisors

_ARCHITECTURES = {"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma2": "gemma2", "gemma3_text": "gemma3"}
"""model_type → GGUF's name of the architecture."""
_PLAIN: dict[str, object] = {
    "attention_bias": False,
    "mlp_bias": False,
    "num_experts": 0,
    "partial_rotary_factor": 1.0,
    "use_bidirectional_attention": False,
    "quantization_config": {},
}
"""The only values that a folder may give to these keys."""


def build_config(path: Path, values: dict[str, Any], quantization: str) -> ModelConfig:
    """values: config.json. Raises ModelFileError."""
    fields = Fields(path, values)
    kind = fields.text("model_type")
    if kind not in _ARCHITECTURES:
        raise unsupported(path, f"model_type {kind}", tuple(_ARCHITECTURES))
    architecture = _ARCHITECTURES[kind]
    family = FAMILIES[architecture]
    for name, plain in _PLAIN.items():
        fields.expect(name, plain)
    fields.expect("hidden_activation" if family.is_gemma else "hidden_act", _activation(family))
    num_heads, hidden_size = fields.count("num_attention_heads"), fields.count("hidden_size")
    head_dim = fields.count("head_dim", hidden_size // max(num_heads, 1))
    ropes = _Ropes(fields, family, head_dim)
    config = ModelConfig(
        architecture=architecture,
        quantization=quantization,
        num_layers=fields.count("num_hidden_layers"),
        hidden_size=hidden_size,
        intermediate_size=fields.count("intermediate_size"),
        num_heads=num_heads,
        num_kv_heads=fields.count("num_key_value_heads", num_heads),
        head_dim=head_dim,
        vocab_size=fields.count("vocab_size"),
        context_length=fields.count("max_position_embeddings"),
        norm_eps=fields.number("rms_norm_eps", 1e-6),
        rope_theta=ropes.theta,
        rope_pairing="halves",
        rope_divisors=ropes.divisors,
        rope_theta_sliding=ropes.theta_sliding,
        has_qkv_bias=family.has_qkv_bias,
        has_qk_norm=family.has_qk_norm,
        has_post_norms=family.is_gemma,
        activation="gelu_tanh" if family.is_gemma else "silu",
        embedding_scale=max(hidden_size, 0) ** 0.5 if family.is_gemma else 1.0,
        query_scale=max(fields.number("query_pre_attn_scalar", head_dim) if family.is_gemma else head_dim, 1) ** -0.5,
        attention_softcap=fields.optional("attn_logit_softcapping"),
        logit_softcap=fields.optional("final_logit_softcapping"),
        sliding_window=fields.count("sliding_window") if fields.get("sliding_window") is not None else None,
        sliding_layers=_sliding_layers(fields, family),
    )
    if problem := config.problem():
        raise damaged(path, f"it describes {problem}")
    return config


def _activation(family: Family) -> str:
    return "gelu_pytorch_tanh" if family.is_gemma else "silu"


class _Ropes:
    """The rotations of global and of sliding layers."""

    def __init__(self, fields: Fields, family: Family, head_dim: int) -> None:
        self._path = fields.path
        whole = fields.get("rope_parameters") or {"rope_theta": fields.get("rope_theta")} | (
            fields.get("rope_scaling") or {}
        )
        if not isinstance(whole, dict):
            raise damaged(self._path, f"rope parameters of {whole!r}")
        own = whole.get("full_attention", whole)
        sliding = whole.get("sliding_attention", {})
        if not isinstance(own, dict) or not isinstance(sliding, dict):
            raise damaged(self._path, "rope parameters that are no objects")
        self.theta = Fields(self._path, own).number("rope_theta", family.rope_theta)
        default = family.rope_theta_sliding if family.has_qk_norm else self.theta
        local = fields.number("rope_local_base_freq", default)
        self.theta_sliding = Fields(self._path, sliding).number("rope_theta", local)
        if self._kind(sliding) != "default":
            raise unsupported(self._path, f"rope_type {self._kind(sliding)} in sliding layers")
        self.divisors = self._divisors(own, min(max(head_dim, 2), MAX_WIDTH))

    @staticmethod
    def _kind(parameters: dict[str, Any]) -> str:
        return str(parameters.get("rope_type") or parameters.get("type") or "default")

    def _divisors(self, parameters: dict[str, Any], head_dim: int) -> tuple[float, ...]:
        kind, fields = self._kind(parameters), Fields(self._path, parameters)
        fields.expect("partial_rotary_factor", 1.0)
        match kind:
            case "default":
                return ()
            case "linear":
                return (fields.number("factor"),) * (head_dim // 2)
            case "llama3":
                low, high = fields.number("low_freq_factor"), fields.number("high_freq_factor")
                trained, factor = fields.number("original_max_position_embeddings"), fields.number("factor")
                if not 0 < low < high or factor <= 0 or self.theta <= 0:
                    raise damaged(self._path, f"a llama3 rope scaling of {low} to {high} by {factor}")
                frequencies = [self.theta ** (-pair / head_dim) for pair in range(0, head_dim, 2)]
                return llama3_divisors(frequencies, factor, low, high, trained)
        raise unsupported(self._path, f"rope_type {kind}", ("default", "linear", "llama3"))


def _sliding_layers(fields: Fields, family: Family) -> frozenset[int]:
    if not (family.is_gemma or fields.get("use_sliding_window")):
        return frozenset()
    kinds = fields.get("layer_types")
    layers = range(min(fields.count("num_hidden_layers"), MAX_LAYERS))
    if isinstance(kinds, list) and len(kinds) >= len(layers):
        return frozenset(layer for layer in layers if kinds[layer] == "sliding_attention")
    if not family.is_gemma:
        return frozenset(layers[min(fields.count("max_window_layers"), len(layers)) :])
    pattern = max(fields.count("sliding_window_pattern", family.sliding_pattern), 1)
    return frozenset(layer for layer in layers if (layer + 1) % pattern)
