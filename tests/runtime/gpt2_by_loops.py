"""A decoder written with loops over plain lists, to compare the real one with.

It shares nothing with the package: arrays come in as nested lists under their GPT-2 names.
"""

from __future__ import annotations

from math import erf, exp, pi, sqrt, tanh
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Row = list[float]


def logits_by_loops(
    arrays: Mapping[str, Any],
    ids: list[int],
    *,
    heads: list[int],
    causal: bool,
    activation: str,
    epsilon: float,
) -> list[Row]:
    """Return the logits at each position; `heads` says how many each layer has."""
    stream = [
        [arrays["wte.weight"][token][d] + arrays["wpe.weight"][place][d] for d in range(width)]
        for place, token in enumerate(ids)
        for width in [len(arrays["wte.weight"][0])]
    ]
    for number, n_head in enumerate(heads):
        h = f"h.{number}"
        if f"{h}.attn.c_attn.weight" in arrays:
            read = [_norm(arrays, f"{h}.ln_1", row, epsilon) for row in stream]
            stream = _sum(stream, _heads(arrays, h, read, n_head, causal))
        if f"{h}.mlp.c_fc.weight" in arrays:
            read = [_norm(arrays, f"{h}.ln_2", row, epsilon) for row in stream]
            stream = _sum(stream, [_neurons(arrays, h, row, activation) for row in read])
    final = [_norm(arrays, "ln_f", row, epsilon) for row in stream]
    unembedding = arrays.get("lm_head.weight", arrays["wte.weight"])
    return [[_dot(row, direction) for direction in unembedding] for row in final]


def _heads(
    arrays: Mapping[str, Any], h: str, rows: list[Row], n_head: int, causal: bool
) -> list[Row]:
    packed = [_linear(arrays, f"{h}.attn.c_attn", row) for row in rows]
    inner = len(packed[0]) // 3
    d_head = inner // n_head
    mixed = [[0.0] * inner for _ in rows]
    for head in range(n_head):
        q, k, v = (
            [
                row[part * inner + head * d_head : part * inner + (head + 1) * d_head]
                for row in packed
            ]
            for part in range(3)
        )
        for i in range(len(rows)):
            seen = range(i + 1) if causal else range(len(rows))
            scores = {j: _dot(q[i], k[j]) / sqrt(d_head) for j in seen}
            top = max(scores.values())
            shares = {j: exp(score - top) for j, score in scores.items()}
            total = sum(shares.values())
            for j, share in shares.items():
                for d in range(d_head):
                    mixed[i][head * d_head + d] += share / total * v[j][d]
    return [_linear(arrays, f"{h}.attn.c_proj", row) for row in mixed]


def _neurons(arrays: Mapping[str, Any], h: str, row: Row, activation: str) -> Row:
    curve = CURVES[activation]
    neurons = [curve(x) for x in _linear(arrays, f"{h}.mlp.c_fc", row)]
    return _linear(arrays, f"{h}.mlp.c_proj", neurons)


CURVES: Mapping[str, Callable[[float], float]] = {
    "relu": lambda x: x if x > 0 else 0.0,
    "gelu": lambda x: x * (1 + erf(x / sqrt(2))) / 2,
    "gelu_new": lambda x: x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2,
}


def _norm(arrays: Mapping[str, Any], name: str, row: Row, epsilon: float) -> Row:
    if f"{name}.weight" not in arrays:
        return row
    mean = sum(row) / len(row)
    variance = sum((x - mean) ** 2 for x in row) / len(row)
    return [
        (x - mean) / sqrt(variance + epsilon) * gain + bias
        for x, gain, bias in zip(row, arrays[f"{name}.weight"], arrays[f"{name}.bias"], strict=True)
    ]


def _linear(arrays: Mapping[str, Any], name: str, row: Row) -> Row:
    matrix, bias = arrays[f"{name}.weight"], arrays[f"{name}.bias"]
    return [sum(row[i] * matrix[i][o] for i in range(len(row))) + bias[o] for o in range(len(bias))]


def _sum(left: list[Row], right: list[Row]) -> list[Row]:
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(left, right, strict=True)]


def _dot(left: Row, right: Row) -> float:
    return sum(x * y for x, y in zip(left, right, strict=True))
