"""What a program costs: our figures, and those of Tracr 1.0.0 that were measured once.

Parameters are all arrays but the unembedding, which Tracr keeps out of its parameters.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import handcraft

FOLDER = Path(__file__).with_name("tracr")
PROGRAMS = (
    "length",
    "reverse",
    "hist",
    "sort",
    "sort_freq",
    "shuffle_dyck1",
    "shuffle_dyck2",
    "frac_prevs",
    "pair_balance",
    "shift_by_1",
    "detect_pattern_3",
)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one program costs at one length.

    Attributes:
        heads: the most of a layer.
        neurons: the most of a layer.
        parameters: entries of all arrays but the unembedding.
        nonzero: entries of them that are not zero.
        seconds: of a compilation.
        unembedding: entries of the unembedding.
    """

    layers: int
    heads: int
    d_model: int
    neurons: int
    parameters: int
    nonzero: int
    seconds: float
    unembedding: int = 0


def stored() -> dict[tuple[str, int], Figures]:
    """Return Tracr's figures by program and length, as they were measured once on two cores."""
    rows = json.loads((FOLDER / "stored.json").read_text(encoding="utf-8"))
    return {(row.pop("program"), row.pop("length")): Figures(**row) for row in rows}


def ours(name: str, length: int) -> Figures:
    """Compile a program from its text, as small as it gets, and return what it costs."""
    text = (FOLDER / f"{name}.rasp").read_text(encoding="utf-8")
    begun = time.perf_counter()
    model = handcraft.compile(text, context=length, optimize=2)
    seconds = time.perf_counter() - begun
    arrays = dict(model.weights)
    unembedding = arrays.pop("lm_head.weight", np.zeros(0))
    return Figures(
        layers=model.config.n_layer,
        heads=max((layer.n_head for layer in model.config.layers), default=0),
        d_model=model.config.d_model,
        neurons=max((layer.d_mlp for layer in model.config.layers), default=0),
        parameters=sum(array.size for array in arrays.values()),
        nonzero=sum(int(np.count_nonzero(array)) for array in arrays.values()),
        seconds=seconds,
        unembedding=unembedding.size,
    )
