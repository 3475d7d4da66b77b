"""What each optimisation level does: the passes in their order, and which a level runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from handcraft.errors import HandcraftError

Passes: TypeAlias = frozenset[str]
"""The names of the passes that are run."""

ASSUMPTIONS = "assumptions"
MAP_FOLDING = "map folding"
AFFINE_FOLDING = "affine folding"
COVERS = "rectangle covers"
LINEAR_READOUT = "linear read-out"
HEAD_MERGING = "head merging"
DEAD_CODE = "dead code"
LAYER_PACKING = "layer packing"
LAYER_SIZES = "per-layer sizes"
ONE_SIDED = "one-sided attention"
NARROW_SCORES = "narrow scores"
EMBEDDING_BASIS = "embedding basis"
LATE_CONSTANT = "late constant"
REPEATS = "repeats"
LIVENESS = "liveness reuse"


@dataclass(frozen=True, slots=True)
class Pass:
    """One thing that makes a model smaller, and the lowest level that does it."""

    name: str
    level: int
    text: str


PASSES = (
    Pass(ASSUMPTIONS, 1, "what the program assumes away may come out as it likes"),
    Pass(MAP_FOLDING, 1, "functions of one one-hot are read off it, not computed"),
    Pass(AFFINE_FOLDING, 1, "sums and multiples are folded into what reads them"),
    Pass(COVERS, 1, "tables are covered by rectangles, a neuron each, not by cells"),
    Pass(LINEAR_READOUT, 1, "decisions that are linear in what a head delivers need no neurons"),
    Pass(HEAD_MERGING, 1, "heads that look at the same keys are one head"),
    Pass(DEAD_CODE, 1, "what nothing reads is left out"),
    Pass(LAYER_PACKING, 1, "operations share the earliest layer in which they can stand"),
    Pass(LAYER_SIZES, 1, "each layer has its own number of heads and neurons"),
    Pass(ONE_SIDED, 2, "where no query selects a later key, the causal mask does that"),
    Pass(NARROW_SCORES, 2, "equality is scored by 2kq - k^2: two products instead of one a value"),
    Pass(EMBEDDING_BASIS, 2, "embeddings write what is read of a one-hot, not the one-hot"),
    Pass(LATE_CONSTANT, 2, "the constant of a read-out takes the start token's direction"),
    Pass(REPEATS, 2, "what is computed twice is computed once"),
    Pass(LIVENESS, 2, "directions that nothing reads any more are cleared and used again"),
)

HIGHEST = 2
"""The highest level."""


def passes_of(level: int) -> Passes:
    """Return the passes of a level.

    Raises:
        HandcraftError: `bad-option` where there is no such level.
    """
    if isinstance(level, bool) or level not in range(HIGHEST + 1):
        message = f"there is no optimisation level `{level}`"
        raise HandcraftError("bad-option", message, help="the levels are 0, 1 and 2")
    return frozenset(p.name for p in PASSES if p.level <= level)
