"""Functions of numbers with hundreds of values: cut into two digits, proved, and right."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import handcraft
from handcraft.compiler.digits import _cut, _places, _summed
from handcraft.compiler.draft import NUMBER, Draft
from handcraft.compiler.levels import passes_of
from handcraft.compiler.sops import Sops

LETTERS = 'vocab "abcd"; context {}; '
FUNCTIONS = {
    "remainder of a count": LETTERS + 'output count_so_far(tokens, "a") % 2;',
    "quotient of a count": LETTERS + 'output count_so_far(tokens, "a") // 3;',
    "remainder of a sum": "vocab 0..9; context {}; output sum(past, tokens) % 7;",
    "quotient of a sum": "vocab 0..9; context {}; output sum(past, tokens) // 10;",
    "remainder of a sum with signs": LETTERS
    + 'output sum(past, {{"a": 1, "b": -1, "c": 2, "d": -2}}[tokens]) % 3;',
    "square": LETTERS + 'output count_so_far(tokens, "a") ^ 2;',
    "product": LETTERS + 'output count_so_far(tokens, "a") * count_so_far(tokens, "b");',
    "counts together": LETTERS
    + 'output (count_so_far(tokens, "a") + 2 * count_so_far(tokens, "b")) % 3 == 0;',
    "most frequent": LETTERS + "predict aggregate(best(past, hist_so_far), tokens);",
    "counted counts": LETTERS + "output selector_width(select(hist_so_far, hist_so_far, ==));",
}


@pytest.mark.parametrize("context", [48, 256])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_hundreds_of_values_is_proved_in_float32_and_right(
    name: str, context: int
) -> None:
    program = handcraft.parse(FUNCTIONS[name].format(context))
    model = handcraft.compile(program, optimize=1 if context > 64 else 2)
    chance = Random(context)
    tokens = program.typed.vocabulary.tokens
    drawn = [
        chance.choices(pair, weights, k=context)
        for weights in ((1, 1), (9, 1), (1, 0))
        for pair in (tokens[:2], tokens[-2:])
    ]
    for text, row in zip(drawn, model.run_batch(drawn), strict=True):
        assert row == program.run(text)


@pytest.mark.parametrize(
    ("expression", "context"),
    [
        ("hist / length", 40),
        ('hist % 3 / length if tokens != "a" else -hist', 12),
        ("(hist + indicator(indices > 3 and hist == 2)) / length", 20),
    ],
)
def test_a_fraction_of_the_length_is_proved(expression: str, context: int) -> None:
    program = handcraft.parse(
        f'vocab "abc"; context {context}; output {expression};', attention="bidirectional"
    )
    model = handcraft.compile(program)
    for n in (1, 2, 7, context - 1, context):
        text = "".join(Random(n).choices("abc", (6, 3, 1), k=n))
        assert model.run(text) == program.run(text)


def test_a_number_with_few_values_takes_one_layer_as_ever() -> None:
    program = FUNCTIONS["remainder of a count"]
    assert handcraft.compile(program.format(64)).config.n_layer == 1
    assert handcraft.compile(program.format(256)).config.n_layer > 1


def test_digits_that_add_up_take_no_table() -> None:
    places = range(200)
    cut, parts = _summed(places, [{0: i // 10} if i >= 10 else {} for i in places], 1) or (
        None,
        None,
    )
    assert cut is not None
    assert parts is not None
    assert len(cut.offsets) % 10 == 0
    assert [parts.blocks[b].get(0, 0) + parts.offsets[o].get(0, 0) for b, o in cut.places] == [
        i // 10 for i in places
    ]
    assert _summed(places, [{0: i * i} for i in places], 1) is None
    assert _summed(places, [{i // 10: 1} for i in places], 20) is None
    assert _summed(places, [{i % 7: 1} for i in places], 7) is not None


@given(st.lists(st.integers(-40, 40), min_size=2, unique=True), st.integers(1, 9), st.fractions())
def test_values_are_the_start_of_their_block_and_what_is_above_it(
    numbers: list[int], size: int, low: Fraction
) -> None:
    points = [low + n for n in sorted(numbers)]
    places = _places(points)
    gap = min(b - a for a, b in pairwise(points))
    if places is None:
        assert any(((p - points[0]) / gap).denominator > 1 for p in points) or (
            points[-1] - points[0] > 4 * gap * len(points)
        )
        return
    cut = _cut(places, size)
    made = [points[0] + gap * (cut.starts[b] + cut.offsets[o]) for b, o in cut.places]
    assert made == points
    assert max(cut.offsets) < size


@given(st.data())
def test_outputs_are_the_results_in_exact_numbers(data: st.DataObject) -> None:
    """The neurons of both digits, worked out by the draft's exact numbers at its start token."""
    n = data.draw(st.integers(2, 60))
    results = data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    here = data.draw(st.integers(0, n - 1))
    program = handcraft.parse('vocab "ab"; context 3; output indices;').typed
    draft = Draft(passes_of(1), start=True)
    sops = Sops(program, draft, passes_of(1))
    x = draft.at_start(sops.number(len(program.nodes) - 1), Fraction(here))
    points = [Fraction(i) for i in range(n)]
    outputs = sops.curves.digits.outputs(0, x, points, [{0: r} for r in results], (NUMBER,))
    assert outputs is not None
    assert outputs[0].at(draft._at_start) == results[here]


def test_what_has_no_even_grid_is_left_to_steps() -> None:
    assert _places([Fraction(1, n) for n in range(9, 1, -1)]) is None
    assert _places([Fraction(0), Fraction(1), Fraction(100)]) is None
