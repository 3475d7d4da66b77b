"""The account: its totals are the model's own figures, and each pass has its row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import handcraft
from handcraft.compiler import account as accounts
from handcraft.compiler.account import Account, Row, Sizes, account
from handcraft.compiler.levels import PASSES
from handcraft.compiler.placement import Placement, placement
from handcraft.errors import HandcraftError, ProgramError

if TYPE_CHECKING:
    from handcraft.language.typed import TypedProgram

GALLERY = Path(__file__).parents[2] / "programs"
ONE_LOGIT_A_TOKEN = (
    'vocab "ab"; bos "^"; context 4; logits {"a": indices, "b": selector_width(past)};'
)
NO_STEP = 'vocab "abc"; context 5; output 7;'


def sizes(model: handcraft.Model) -> Sizes:
    """Return the model's own figures."""
    config, counts = model.config, model.parameters.counts()
    lm_head = counts["lm_head.weight"].total if "lm_head.weight" in counts else 0
    return Sizes(
        layers=config.n_layer,
        heads=sum(layer.n_head for layer in config.layers),
        d_model=config.d_model,
        neurons=sum(layer.d_mlp for layer in config.layers),
        parameters=model.parameters.n_parameters - lm_head,
        lm_head=lm_head,
    )


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", ["aab", "hist", "reverse", "running_mean", "recall", "copy"])
def test_the_last_row_is_the_model(name: str, level: int) -> None:
    program = handcraft.parse(GALLERY / f"{name}.rasp")
    rows = account(program, optimize=level).rows
    assert rows[-1].sizes == sizes(handcraft.compile(program, optimize=level))


@pytest.mark.parametrize("text", [ONE_LOGIT_A_TOKEN, NO_STEP])
def test_an_unembedding_of_its_own_is_counted_apart(text: str) -> None:
    found = account(handcraft.parse(text)).rows[-1].sizes
    assert found == sizes(handcraft.compile(text))
    assert found is not None
    assert found.lm_head > 0


@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_pass_of_the_level_has_its_row_in_order(level: int) -> None:
    names = [row.name for row in account(handcraft.parse(NO_STEP), optimize=level).rows]
    assert names == ["without passes", *(p.name for p in PASSES if p.level <= level)]


def test_the_levels_agree_on_what_they_share() -> None:
    program = handcraft.parse(GALLERY / "hist.rasp")
    one, two = (account(program, optimize=level).rows for level in (1, 2))
    assert two[: len(one)] == one
    assert len(two) > len(one)


def test_the_table_shows_changes_between_two_lines_of_totals() -> None:
    first, second = Sizes(5, 4, 30, 20, 9999, 90), Sizes(3, 4, 32, 8, 1234, 96)
    rows = (Row("without passes", first), Row("one", None), Row("two", second))
    assert (
        Account(1, rows).show()
        == """\
                layers  heads  d_model  neurons  parameters  lm_head
without passes       5      4       30       20       9,999       90
one                  -      -        -        -           -        -
two                 -2      .       +2      -12      -8,765       +6
level 1              3      4       32        8       1,234       96
"""
    )


def test_a_program_that_only_later_passes_can_build_has_rows_without_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(typed: TypedProgram, passes: frozenset[str]) -> Placement:
        if "layer packing" not in passes:
            raise ProgramError("too-large", "too large")
        return placement(typed, passes)

    monkeypatch.setattr(accounts, "placement", late)
    program = handcraft.parse(NO_STEP)
    built = {row.name: row.sizes is not None for row in account(program).rows}
    assert built["layer packing"]
    assert not built["dead code"]
    with pytest.raises(ProgramError, match="too large"):
        account(program, optimize=0)


def test_there_is_no_account_of_an_unknown_level() -> None:
    with pytest.raises(HandcraftError, match="no optimisation level `3`"):
        account(handcraft.parse(NO_STEP), optimize=3)
