"""Budgets: what fits is compiled, what does not is told with its components and a way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import handcraft
from handcraft.errors import HandcraftError, ProgramError, SeveralMistakesError

INDUCTION = Path(__file__).parents[2] / "programs" / "induction.rasp"
TWO = """\
vocab "abc";
context 6;
before = aggregate(select(indices, indices - 1, ==), tokens, "_");
same = selector_width(select(tokens, tokens, ==));
output same + 1 if before == "a" else same;
"""


def refusal(text: str | Path, level: int = 1, **limits: int) -> ProgramError:
    with pytest.raises(ProgramError) as found:
        handcraft.compile(text, optimize=level, budget=limits)
    return found.value


def taken(level: int) -> dict[str, int]:
    config = handcraft.compile(TWO, optimize=level).config
    counts = handcraft.compile(TWO, optimize=level).parameters.counts()
    return {
        "layers": config.n_layer,
        "heads": config.n_head,
        "d_model": config.d_model,
        "d_head": config.d_head,
        "d_mlp": config.d_mlp,
        "neurons": sum(layer.d_mlp for layer in config.layers),
        "parameters": sum(c.total for name, c in counts.items() if name != "lm_head.weight"),
    }


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_budget_of_exactly_what_a_model_takes_fits_and_changes_nothing(level: int) -> None:
    model = handcraft.compile(TWO, optimize=level, budget=taken(level))
    assert model.config == handcraft.compile(TWO, optimize=level).config


@pytest.mark.parametrize(
    "name", ["layers", "heads", "d_model", "d_head", "d_mlp", "neurons", "parameters"]
)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_one_less_of_anything_does_not_fit(level: int, name: str) -> None:
    most = taken(level)[name]
    error = refusal(TWO, level, **{name: most - 1})
    assert error.code == "budget"
    amounts = f"`{name}` is {most:,} at level {level}, and the budget has {most - 1:,}: the l"
    assert error.message.startswith(amounts)


def test_the_largest_components_are_named_with_their_lines() -> None:
    error = refusal(INDUCTION, d_model=5)
    assert error.message == (
        "`d_model` is 31 at level 1, and the budget has 5: the largest parts are"
        " `aggregate` (8, line 7), `indices` (8), `tokens` (7), and 2 more"
    )
    assert error.span is not None
    assert error.span.line == 7


def test_layers_are_explained_by_what_waits_for_what() -> None:
    error = refusal(INDUCTION, layers=1)
    assert error.message.endswith(
        ": the longest chain is `aggregate` in layer 1 (line 7) after `previous_token` in layer 0"
        " (line 6)"
    )


def test_the_help_names_a_higher_level_that_fits_all() -> None:
    error = refusal(INDUCTION, d_model=24)
    assert error.help == "level 2 fits: `-O2`, in Python `optimize=2`"
    assert handcraft.compile(INDUCTION, optimize=2, budget={"d_model": 24}).config.d_model == 24


def test_the_help_names_a_lower_level_where_only_that_fits() -> None:
    assert taken(0)["heads"] == 1
    error = refusal(TWO, 2, heads=1)
    assert error.help == "level 0 fits: `-O0`, in Python `optimize=0`"


def test_the_help_says_what_the_smallest_level_takes_where_none_fits() -> None:
    assert refusal(INDUCTION, d_model=3).help == "no level fits; at level 2 it is 24"
    smallest = refusal(INDUCTION, 2, d_model=3)
    assert smallest.help == "no level fits; allow more, or make the program smaller"


def test_each_limit_that_is_passed_is_told() -> None:
    error = refusal(INDUCTION, layers=1, d_model=5, heads=9)
    assert isinstance(error, SeveralMistakesError)
    assert [each.message.split()[0] for each in error.errors] == ["`layers`", "`d_model`"]


def test_a_model_without_layers_fits_a_budget_of_none() -> None:
    text = 'vocab "ab"; context 3; output tokens;'
    assert handcraft.compile(text, budget={"layers": 0}).config.n_layer == 0


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"width": 5}, "cannot limit `width`"),
        ({"layers": -1}, "a whole number from 0, not `-1`"),
        ({"layers": True}, "not `True`"),
        ({"layers": 2.5}, "not `2.5`"),
        ("layers=4", "found `str`"),
    ],
)
def test_a_budget_that_is_none_is_refused(budget: Any, message: str) -> None:
    with pytest.raises(HandcraftError, match=message) as found:
        handcraft.compile(INDUCTION, budget=budget)
    assert found.value.code == "bad-option"
