"""An encoder-decoder written with loops over plain lists, to compare the real one with.

It shares nothing with the package: arrays come in as nested lists under their names in a file.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = list[float]
Norm = Literal["none", "before", "after"]


class Loops:
    """Arrays and how they are put together."""

    def __init__(self, arrays: Mapping[str, Any], norm: Norm, epsilon: float) -> None:
        self.arrays = arrays
        self.norm = norm
        self.epsilon = epsilon

    def logits(
        self,
        source: list[int],
        ids: list[int],
        *,
        encoder_heads: list[int],
        heads: list[int],
        cross_heads: list[int],
    ) -> list[Row]:
        """Return the logits at each position of the target."""
        encoded = self.encode(source, encoder_heads)
        stream = self.embed("", ids)
        for number, n_head in enumerate(heads):
            h = f"h.{number}"
            if n_head:
                stream = self.sublayer(
                    f"{h}.ln_1", stream, lambda x, h=h, n=n_head: self.within(h, x, n, causal=True)
                )
            if cross_heads[number]:
                stream = self.sublayer(
                    f"{h}.ln_cross_attn",
                    stream,
                    lambda x, h=h, n=cross_heads[number]: self.across(h, x, encoded, n),
                )
            stream = self.neurons(h, stream)
        final = [self.before("ln_f", row) for row in stream]
        unembedding = self.arrays.get("lm_head.weight", self.arrays["wte.weight"])
        return [[dot(row, direction) for direction in unembedding] for row in final]

    def encode(self, source: list[int], heads: list[int]) -> list[Row]:
        """Return the encoder's stream."""
        stream = self.embed("encoder.", source)
        for number, n_head in enumerate(heads):
            h = f"encoder.h.{number}"
            if n_head:
                stream = self.sublayer(
                    f"{h}.ln_1", stream, lambda x, h=h, n=n_head: self.within(h, x, n, causal=False)
                )
            stream = self.neurons(h, stream)
        return [self.before("encoder.ln_f", row) for row in stream]

    def embed(self, prefix: str, ids: list[int]) -> list[Row]:
        words, places = self.arrays[f"{prefix}wte.weight"], self.arrays[f"{prefix}wpe.weight"]
        return [add(words[token], places[place]) for place, token in enumerate(ids)]

    def within(self, h: str, rows: list[Row], n_head: int, *, causal: bool) -> list[Row]:
        packed = [self.linear(f"{h}.attn.c_attn", row) for row in rows]
        q, k, v = ([third(row, part, 3) for row in packed] for part in range(3))
        seen = [range(i + 1 if causal else len(rows)) for i in range(len(rows))]
        return [
            self.linear(f"{h}.attn.c_proj", mix(q[i], [k[j] for j in keys], v, n_head))
            for i, keys in enumerate(seen)
        ]

    def across(self, h: str, rows: list[Row], encoded: list[Row], n_head: int) -> list[Row]:
        packed = [self.linear(f"{h}.crossattention.c_attn", row) for row in encoded]
        k, v = ([third(row, part, 2) for row in packed] for part in range(2))
        queries = [self.linear(f"{h}.crossattention.q_attn", row) for row in rows]
        return [
            self.linear(f"{h}.crossattention.c_proj", mix(query, k, v, n_head)) for query in queries
        ]

    def neurons(self, h: str, stream: list[Row]) -> list[Row]:
        if f"{h}.mlp.c_fc.weight" not in self.arrays:
            return stream
        return self.sublayer(
            f"{h}.ln_2",
            stream,
            lambda rows: [
                self.linear(
                    f"{h}.mlp.c_proj", [max(x, 0.0) for x in self.linear(f"{h}.mlp.c_fc", row)]
                )
                for row in rows
            ],
        )

    def sublayer(self, name: str, stream: list[Row], what: Any) -> list[Row]:
        out = what([self.before(name, row) for row in stream])
        summed = [add(x, y) for x, y in zip(stream, out, strict=True)]
        return [self.normalised(name, row) for row in summed] if self.norm == "after" else summed

    def before(self, name: str, row: Row) -> Row:
        return self.normalised(name, row) if self.norm == "before" else row

    def normalised(self, name: str, row: Row) -> Row:
        mean = sum(row) / len(row)
        deviation = sqrt(sum((x - mean) ** 2 for x in row) / len(row) + self.epsilon)
        gain, bias = self.arrays[f"{name}.weight"], self.arrays[f"{name}.bias"]
        return [(x - mean) / deviation * g + b for x, g, b in zip(row, gain, bias, strict=True)]

    def linear(self, name: str, row: Row) -> Row:
        matrix, bias = self.arrays[f"{name}.weight"], self.arrays[f"{name}.bias"]
        return [
            sum(row[i] * matrix[i][o] for i in range(len(row))) + bias[o] for o in range(len(bias))
        ]


def mix(query: Row, keys: list[Row], values: list[Row], n_head: int) -> Row:
    """Return what all heads mix for one query, side by side; of no keys that is nothing."""
    width = len(query) // n_head
    mixed: Row = []
    for head in range(n_head):
        part = slice(head * width, (head + 1) * width)
        scores = [dot(query[part], key[part]) / sqrt(width) for key in keys]
        shares = [exp(score - max(scores)) for score in scores]
        mixed += [
            sum(s / sum(shares) * v[part][d] for s, v in zip(shares, values, strict=False))
            for d in range(width)
        ]
    return mixed


def third(row: Row, part: int, parts: int) -> Row:
    """Return one of the equal parts of a row."""
    width = len(row) // parts
    return row[part * width : (part + 1) * width]


def add(left: Row, right: Row) -> Row:
    return [x + y for x, y in zip(left, right, strict=True)]


def dot(left: Row, right: Row) -> float:
    return sum(x * y for x, y in zip(left, right, strict=True))
