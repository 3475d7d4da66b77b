"""How deep the model of a pattern is: what each class of languages promises at any context."""

from __future__ import annotations

from math import ceil, log2

import pytest
from patterns import CLASSES, Pattern, built, eight_states

CONTEXTS = (8, 12, 16, 32, 33, 64)
WORDS = {
    "suffix": "the last 3 tokens decide",
    "position": "the position decides",
    "reset": "the latest resetting token decides",
    "counting": "the count decides",
    "counting since a reset": "the count decides since the latest resetting token",
    "general": "composition of maps in",
}
MOST = {"suffix": 1, "position": 0, "reset": 1, "counting": 2, "counting since a reset": 3}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("pattern", CLASSES, ids=lambda pattern: pattern.name)
def test_a_class_is_as_deep_as_it_promises(pattern: Pattern, context: int) -> None:
    made = built(pattern, context)
    assert made.construction.startswith(WORDS[pattern.name])
    assert made.sizes.layers <= MOST.get(pattern.name, ceil(log2(context)))


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("pattern", eight_states(), ids=lambda pattern: pattern.name)
def test_eight_states_are_followed_in_logarithmic_depth(pattern: Pattern, context: int) -> None:
    made = built(pattern, context)
    assert made.construction.startswith("composition of maps in")
    assert made.sizes.layers <= ceil(log2(context))
