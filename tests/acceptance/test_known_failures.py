"""What Tracr gets silently wrong or refuses is exact here, at every level and in both formats."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import comparing
import pytest
import texts
from comparing import assert_agrees

import handcraft
from handcraft.checking import check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.runtime.model import Model

LONG = {
    "hist": "hist",
    "length": "length",
    "reverse": "reverse",
    "shuffle_dyck2": "shuffle_dyck2_verdict",
    "sort": "sort",
    "sort_freq": "sort_by_frequency",
}
"""Tracr's names of programs that it has wrong from some length on, and the names of our files."""

ONE_PAIR = """
vocab "()";
attention bidirectional;
step = indicator(tokens == "(") - indicator(tokens == ")");
output every(cumulative_sum(step) >= 0) and total(step) == 0;
example "(())()" -> [True, True, True, True, True, True];
"""

INPUTS = 30
LONGEST = 3


def exact(text: str, *, longest: int = LONGEST) -> Mapping[str, Model]:
    """Check that a program has a meaning on all texts, and that its models give it."""
    program = handcraft.parse(text)
    made = comparing.models(program)
    report = check(program, made, longest=longest, random=INPUTS)
    assert report.holds, report
    assert report.without_meaning == 0
    assert report.compared > 0
    return made


@pytest.mark.parametrize("length", [10, 20, 40])
@pytest.mark.parametrize("name", sorted(LONG))
def test_it_stays_right_as_texts_grow(name: str, length: int) -> None:
    path = next(path for path in comparing.FILES if path.stem == LONG[name])
    program = comparing.filled(path, length)
    drawn = texts.inputs(path.stem, handcraft.parse(path), length, Random(length))
    made = {"as it comes": handcraft.compile(program)}
    assert_agrees(comparing.compare(path.stem, program, made, drawn, INPUTS))


@pytest.mark.parametrize("length", [10, 20, 40])
def test_balance_of_one_pair_stays_right_as_texts_grow(length: int) -> None:
    program = handcraft.parse(ONE_PAIR, context=length)
    drawn = texts.inputs("dyck1_ptf", program, length, Random(length))
    model = handcraft.compile(program)
    assert_agrees(
        comparing.compare("shuffle_dyck1", program, {"as it comes": model}, drawn, INPUTS)
    )
    balanced = "(" * (length // 2) + ")" * (length // 2)
    assert model.run(balanced) == [True] * length


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
@pytest.mark.parametrize(
    "selector",
    [
        "select(tokens, tokens, ==) and not select(indices, indices, ==)",
        'select(tokens, "a", ==) or select(indices, indices - 1, ==)',
        "not (select(tokens, tokens, <) or select(indices, 2, >))",
        "select(tokens, tokens, ==) and select(indices, indices, <=) and select(tokens, 'b', !=)",
    ],
)
def test_selectors_are_composed(selector: str, attention: str) -> None:
    header = f'vocab "abc"; context 5; attention {attention};'
    exact(f"{header} output aggregate({selector}, indices, -1);")
    exact(f"{header} output selector_width({selector});")


@pytest.mark.parametrize(
    "statements",
    [
        "vocab 0..9; context 10; output sum(full_s, tokens);",
        "vocab 0..9; context 10; attention bidirectional; output sum(full_s, tokens);",
        'vocab "0123456789"; context 3; output sum(past, int(tokens) * 10 ^ indices);',
        'vocab "0123456789"; context 3; attention bidirectional; '
        "output sum(full_s, int(tokens) * 10 ^ indices);",
    ],
)
def test_digits_are_summed_to_a_number(statements: str) -> None:
    exact(statements)


@pytest.mark.parametrize("threshold", ["> 0.6", ">= 0.6", "< 1/3", "== 1/2"])
def test_a_fraction_is_compared_with_a_threshold(threshold: str) -> None:
    exact(f'vocab "ab"; context 7; output frac_prevs(tokens, "a") {threshold};', longest=7)


def test_a_mean_of_tokens_that_are_numbers_is_exact() -> None:
    exact("vocab 0..4; context 5; output aggregate(past, tokens);")


@pytest.mark.parametrize(
    "statements",
    [
        'vocab "abcdefghij"; context 5; output shift(tokens, 1, "_");',
        "vocab 0..30; context 4; output shift(3 * tokens, 1, 0);",
        "vocab 0..30; context 4; attention bidirectional; "
        "output aggregate(first(select(tokens % 3, indices, ==)), tokens, -1);",
    ],
)
def test_a_value_may_be_wider_than_every_key(statements: str) -> None:
    exact(statements)


@pytest.mark.parametrize(
    "default",
    ["0", "-1", "1/2", "10000", '"a"', '"none"', "True", "False", "tokens", "indices", "1 / 3"],
)
@pytest.mark.parametrize("value", ["tokens", "indices", 'tokens == "a"'])
def test_an_empty_selection_has_any_default(value: str, default: str) -> None:
    selector = "select(indices, indices - 2, ==)"
    exact(f'vocab "ab"; context 4; output aggregate({selector}, {value}, {default});')


@pytest.mark.parametrize("default", ["1/2", '"none"', "True", "tokens"])
def test_so_has_a_selection_that_is_empty_on_some_texts(default: str) -> None:
    header = 'vocab "ab"; context 4; attention bidirectional;'
    exact(f'{header} output aggregate(first(select(tokens, "b", ==)), indices, {default});')


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_tokens_are_compared_with_indices(op: str) -> None:
    exact(f"vocab 0..5; context 6; output tokens {op} indices;")
    key = f"select(tokens, indices, {op})"
    exact(f"vocab 0..3; context 5; attention bidirectional; output selector_width({key});")


def test_two_identical_selectors_share_a_head() -> None:
    made = exact(
        """
        vocab "abc"; context 5;
        was_a = aggregate(select(indices, indices - 1, ==), tokens == "a", False);
        place = aggregate(select(indices, indices - 1, ==), indices, -1);
        output place if was_a else 9 - place;
        """
    )
    for name, model in made.items():
        if not name.startswith("O0"):
            assert sum(layer.n_head for layer in model.config.layers) == 1


@pytest.mark.parametrize(
    "statements",
    [
        "output indices % 3;",
        "output aggregate(past, indices);",
        "attention bidirectional; output length;",
        "attention bidirectional; output length - indices;",
        'predict "a" if indices % 2 == 0 else "b";',
    ],
)
def test_a_program_may_do_without_tokens(statements: str) -> None:
    exact(f'vocab "ab"; context 5; {statements}')


@pytest.mark.parametrize(
    "result",
    [
        *("output 1;", 'output "word";', "output True;", "output 1/3;", 'predict "b";'),
        'allow "a" if True; allow "b" if False;',
        'logits {"a": 1, "b": 2};',
    ],
)
def test_a_program_may_be_constant(result: str) -> None:
    exact(f'vocab "ab"; context 4; {result}')
