"""The published numbers of a random transformer, each computed anew by the runtime.

The model is an encoder-decoder of width 4 whose arithmetic was written out number by number. The
first encoder is built here as weights of the runtime, in three forms (as its code has them, as
they were typeset, and with scores divided by 30); the numbers are then read from its trace.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from math import acos, degrees, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from blow_up import D_HEAD, D_MODEL, HELLO_WORLD, N_HEAD, published_norm
from random_models import random_encoder

from handcraft.runtime.config import Config, LayerConfig
from handcraft.runtime.positions import sinusoids
from handcraft.runtime.sampling import greedy
from handcraft.runtime.transformer import forward, softmax
from handcraft.runtime.weights import Weights, shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.runtime.trace import AttentionTrace, Trace
    from handcraft.runtime.weights import Array

Numbers: TypeAlias = "Array | float"

DATA = Path(__file__).parents[1] / "data" / "random_transformer.json"

FIRST_LOGITS = np.array(
    [
        *(-0.39929948, 0.96345013, 2.77090264, 0.25651866, -0.84738762),
        *(-1.67834992, -0.29583529, -3.55515281, 2.97453801, -1.10682376),
    ]
)
"""The logits of the first version, to which the published probabilities belong."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A published number, or several, and what the runtime says.

    Attributes:
        name: what it is.
        status: `verified`, `differs`, or why it cannot be computed.
        stated: what was published.
        tolerance: how far from it the digits that were published allow.
        ours: what the runtime says; None where it cannot be computed.
        note: why it differs.
    """

    name: str
    status: str
    stated: Any
    tolerance: float
    ours: Numbers | None
    note: str | None

    @property
    def difference(self) -> float:
        """The largest distance between what was stated and what the runtime says."""
        assert self.ours is not None, "only what is computed differs"
        return float(np.abs(np.asarray(self.stated) - self.ours).max())

    @property
    def agrees(self) -> bool:
        """Whether the runtime gives the digits that were stated."""
        return self.difference <= self.tolerance


@cache
def published() -> dict[str, Any]:
    """Return the published numbers as they are kept."""
    loaded: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return loaded


def entries() -> list[Entry]:
    """Return all published numbers in their order, with our own beside them."""
    ours = recomputed()
    return [
        Entry(
            entry["name"],
            entry["status"],
            entry["stated"],
            entry["tolerance"],
            ours.get(entry["name"]),
            entry["note"],
        )
        for entry in published()["numbers"]
    ]


def recomputed() -> Mapping[str, Numbers]:
    """Return what the runtime says of everything that can be computed, by the names in the data."""
    return {
        **_positions(),
        **_first_encoder(),
        **_scaled_by_30(),
        **_typeset(),
        **_many_encoders(),
        **_decoder(),
        **_probabilities(),
    }


# Parts ---------------------------------------------------------------------------------------


def _positions() -> dict[str, Numbers]:
    by_formula = sinusoids(2, D_MODEL)
    # As it was written out: each channel has an angle of its own, where two should share one.
    by_channel = sinusoids(2, 2 * D_MODEL, base=10_000.0**2)[:, [0, 3, 4, 7]]
    embedded = _trace().embedding
    hello, world = _weights("code")["wte.weight"]
    cosine = float(hello @ world / np.linalg.norm(hello) / np.linalg.norm(world))
    sos = np.array([1.0, 0, 0, 0])
    return {
        "PE(0)": by_formula[0],
        "PE(1), by the calculation the post writes out": by_channel[1],
        "PE(1), by the formula the post quotes": by_formula[1],
        "encoder input E": embedded,
        "angle between the two token embeddings (comment: about 60 degrees)": degrees(acos(cosine)),
        "SOS embedding [1,0,0,0] + PE(0)": sos + by_formula[0],
    }


def _first_encoder() -> dict[str, Numbers]:
    heads = _heads(_trace())
    products = heads.q @ heads.k.swapaxes(-1, -2)
    first, second = heads.pattern
    return {
        "Q1": heads.q[0],
        "K1": heads.k[0],
        "V1": heads.v[0],
        "scores head 1 (q.k)": products[0],
        "scores head 1 / sqrt(3)": heads.scores[0],
        "softmax head 1": first,
        "softmax head 1, relative error of the small entries": _relative("softmax head 1", first),
        "attention head 1, /sqrt(3)": heads.mixed[0],
        "softmax head 2": second,
        "softmax head 2, relative error of the small entries": _relative("softmax head 2", second),
        "attention head 2, /sqrt(3)": heads.mixed[1],
        "softmax([1,2,3]), 2 decimals": softmax(np.array([1.0, 2, 3])).round(2),
    }


def _scaled_by_30() -> dict[str, Numbers]:
    trace = _trace("by 30")
    heads = _heads(trace)
    summed = trace.embedding + heads.attn_out
    centred = summed - summed.mean(axis=-1, keepdims=True)
    return {
        "attention head 1, /30": heads.mixed[0],
        "attention head 2, /30": heads.mixed[1],
        "concatenated heads (2x6)": np.concatenate(list(heads.mixed), axis=-1),
        "Z = concat @ W (2x4)": heads.attn_out,
        "Z as typeset again before the FFN": heads.attn_out,
        "E + Z": summed,
        "row means (text)": summed.mean(axis=-1),
        "row means (code output)": summed.mean(axis=-1),
        "row 0: sum of squared deviations": float((centred[0] ** 2).sum()),
        "row 0: variance": float((centred[0] ** 2).mean()),
        "row deviations (code output)": summed.std(axis=-1),
        "row 0 normalised, text, 3 decimals": published_norm(summed)[0],
        "layer norm of E + Z": published_norm(summed),
    }


def _typeset() -> dict[str, Numbers]:
    heads = _heads(_trace("typeset"))
    return {
        "Q1 with WQ1 as typeset in the formula": heads.q[0],
        "softmax head 2 with WK2 as typeset in the formula": heads.pattern[1],
    }


def _many_encoders() -> dict[str, Numbers]:
    """Return means and deviations after six encoders; their weights were random, these hold."""
    final = forward(random_encoder(seed=0, embeddings=HELLO_WORLD), np.arange(2)).final
    words = published()["vocabulary_embeddings"]
    spoken = random_encoder(seed=1, embeddings=np.array([words["hello"], words["world"]]))
    spoken_final = forward(spoken, np.arange(2)).final
    return {
        "6 encoders with residual + LN: row mean": final.mean(axis=-1),
        "6 encoders with residual + LN: row deviation": final.std(axis=-1),
        "generate: encoder output, mean and deviation": np.stack(
            [spoken_final.mean(axis=-1), spoken_final.std(axis=-1)], axis=-1
        ),
    }


def _decoder() -> dict[str, Numbers]:
    """Return the norms of the decoder, from the printed outputs of its random sublayers."""
    embedded = np.array(_stated("SOS embedding [1,0,0,0] + PE(0)"))
    within = np.array(_stated("decoder self-attention output Z"))
    across = np.array(_stated("encoder-decoder attention output"))
    normed = np.array(_stated("decoder LN(Z + E)"))
    shown = np.array(_stated("decoder LN(enc-dec attention + previous)"))
    return {
        "decoder LN(Z + E)": published_norm(within + embedded),
        "decoder LN(enc-dec attention + previous)": published_norm(across + normed),
        "same row: mean and deviation": np.array([shown.mean(), shown.std()]),
    }


def _probabilities() -> dict[str, Numbers]:
    name = "probabilities, from the logits of the first published version"
    return {
        name: softmax(FIRST_LOGITS),
        "greedy choice among the ten probabilities": int(greedy(FIRST_LOGITS, 0.0)),
        "sum of the ten probabilities": float(sum(_stated(name))),
    }


def _stated(name: str) -> Any:
    return next(entry["stated"] for entry in published()["numbers"] if entry["name"] == name)


def _relative(name: str, shares: Array) -> float:
    """Return how far the small shares, of the first key, are from the stated ones."""
    small = np.array(_stated(name))[:, 0]
    return float(np.abs(shares[:, 0] / small - 1).max())


def _heads(trace: Trace) -> AttentionTrace:
    heads = trace.layers[0].attention
    assert heads is not None, "the encoder has heads"
    return heads


# Weights -------------------------------------------------------------------------------------


@cache
def _trace(form: str = "code") -> Trace:
    return forward(_weights(form), np.arange(2))


@cache
def _weights(form: str) -> Weights:
    """Return the heads of the first encoder as weights.

    Args:
        form: `code`; `typeset`, with the two matrices as the formulas show them; `by 30`, with
            queries that make the division by sqrt(3) one by 30.
    """
    data = published()
    words, matrices = data["token_embeddings"], dict(data["weights"])
    if form == "typeset":
        matrices |= data["weights_as_typeset_where_they_differ"]
    arrays = {name: np.array(matrix, float) for name, matrix in matrices.items()}
    if form == "by 30":
        arrays |= {name: arrays[name] * sqrt(3) / 30 for name in ("WQ1", "WQ2")}
    config = Config(2, 2, D_MODEL, 2, (LayerConfig(N_HEAD, D_HEAD, 0),), attention="bidirectional")
    filled: dict[str, Array] = {name: np.zeros(shape) for name, shape in shapes(config).items()}
    filled["wte.weight"] = np.array([words["Hello"], words["World"]], float)
    # The positions as they were printed, which the published input has.
    printed = ("PE(0)", "PE(1), by the calculation the post writes out")
    filled["wpe.weight"] = np.array([_stated(name) for name in printed], float)
    filled["h.0.attn.c_attn.weight"] = np.concatenate(
        [arrays[f"W{part}{head}"] for part in "QKV" for head in (1, 2)], axis=1
    )
    filled["h.0.attn.c_proj.weight"] = arrays["WO_6x4"]
    return Weights(config, filled)
