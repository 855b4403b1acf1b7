"""all-MiniLM-L6-v2 as an ONNX graph with 8-bit weights, built from its checkpoint. Knows nothing of texts.

A BERT encoder (arXiv 1810.04805). Weights are int8 in blocks of 32 along the input, and so are the input rows
(MatMulNBits of ONNX Runtime, accuracy level 4). So a row's result depends on no other row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_BLOCK_SIZE = 32
_MAX_CODE = 127
_ZERO = 128
_OPSET = 20
_IR_VERSION = 9

Floats = NDArray[np.float32]


def build_graph(weights: dict[str, Floats], num_layers: int, num_heads: int, epsilon: float) -> bytes:
    """Return the serialized model, which takes x and mask and returns y, shaped as x.

    x is [num_texts, num_tokens, hidden_size], mask is [num_texts, num_tokens].
    `mask` is added to the attention scores of each key: 0 for a token, very negative for padding.
    """
    return _Graph(weights, num_layers, num_heads, epsilon).serialized()


class _Graph:
    """Collects nodes and constants; each method returns the name of its result."""

    def __init__(self, weights: dict[str, Floats], num_layers: int, num_heads: int, epsilon: float) -> None:
        self._weights = weights
        self._num_layers = num_layers
        self._num_heads = num_heads
        self._epsilon = epsilon
        self._hidden_size = len(weights["embeddings.LayerNorm.weight"])
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def serialized(self) -> bytes:
        self._encoder("x", self._op("Unsqueeze", "mask", self._constant(np.array([1, 2]))))
        self._nodes[-1].output[0] = "y"
        hidden: list[str | int | None] = ["num_texts", "num_tokens", self._hidden_size]
        inputs = [_float32("x", hidden), _float32("mask", hidden[:2])]
        graph = helper.make_graph(self._nodes, "minilm", inputs, [_float32("y", hidden)], self._constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        return bytes(model.SerializeToString())

    def _encoder(self, x: str, mask: str) -> str:
        x = self._normed(x, "embeddings.LayerNorm")
        for layer in range(self._num_layers):
            prefix = f"encoder.layer.{layer}."
            attended = self._attention(x, mask, f"{prefix}attention.")
            x = self._normed(self._op("Add", x, attended), f"{prefix}attention.output.LayerNorm")
            hidden = self._op("Gelu", self._linear(x, f"{prefix}intermediate.dense"))
            x = self._normed(
                self._op("Add", x, self._linear(hidden, f"{prefix}output.dense")), f"{prefix}output.LayerNorm"
            )
        return x

    def _attention(self, x: str, mask: str, prefix: str) -> str:
        query = self._heads(x, f"{prefix}self.query", perm=[0, 2, 1, 3])
        key = self._heads(x, f"{prefix}self.key", perm=[0, 2, 3, 1])
        value = self._heads(x, f"{prefix}self.value", perm=[0, 2, 1, 3])
        scale = self._constant(np.float32((self._hidden_size // self._num_heads) ** -0.5))
        scores = self._op("Add", self._op("Mul", self._op("MatMul", query, key), scale), mask)
        mixed = self._op("MatMul", self._op("Softmax", scores, axis=-1), value)
        joined = self._constant(np.array([0, 0, self._hidden_size]))
        together = self._op("Reshape", self._op("Transpose", mixed, perm=[0, 2, 1, 3]), joined)
        return self._linear(together, f"{prefix}output.dense")

    def _heads(self, x: str, name: str, perm: list[int]) -> str:
        split = self._constant(np.array([0, 0, self._num_heads, self._hidden_size // self._num_heads]))
        return self._op("Transpose", self._op("Reshape", self._linear(x, name), split), perm=perm)

    def _linear(self, x: str, name: str) -> str:
        weight = self._weights[f"{name}.weight"]  # [num_out, num_in]
        codes, scales = _quantized(weight)
        shape = {"N": weight.shape[0], "K": weight.shape[1], "bits": 8, "block_size": _BLOCK_SIZE}
        product = self._op(
            "MatMulNBits",
            x,
            self._constant(codes),
            self._constant(scales),
            domain="com.microsoft",
            accuracy_level=4,
            **shape,
        )
        return self._op("Add", product, self._constant(self._weights[f"{name}.bias"]))

    def _normed(self, x: str, name: str) -> str:
        weight, bias = (self._constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self._op("LayerNormalization", x, weight, bias, axis=-1, epsilon=self._epsilon)

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output = f"value_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def _constant(self, value: Any) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name


def _float32(name: str, shape: list[str | int | None]) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _quantized(weight: Floats) -> tuple[NDArray[np.uint8], Floats]:
    """Return codes [num_out, num_blocks, block_size] with zero at 128, and scales [num_out * num_blocks]."""
    blocks = weight.reshape(len(weight), -1, _BLOCK_SIZE)
    scales = np.maximum(np.abs(blocks).max(axis=-1, keepdims=True) / _MAX_CODE, np.finfo(np.float32).tiny)
    codes = (np.rint(blocks / scales) + _ZERO).astype(np.uint8)
    return codes, scales.astype(np.float32).reshape(-1)
