"""The comparison itself: it catches what is wrong, and tries what a program is about."""

from __future__ import annotations

from itertools import islice, repeat
from random import Random
from typing import TYPE_CHECKING

import comparing
import numpy as np
import pytest
import texts
from nonzero import nonzero
from table import table

import handcraft

if TYPE_CHECKING:
    from pathlib import Path

every_file = pytest.mark.parametrize("path", comparing.FILES, ids=lambda path: path.stem)


def test_a_model_that_is_wrong_is_caught_and_true_is_not_one() -> None:
    right = handcraft.parse('vocab "ab"; context 2; output tokens == "a";')
    wrong = handcraft.parse('vocab "ab"; context 2; output indicator(tokens == "a");')
    made = {"right": handcraft.compile(right), "wrong": handcraft.compile(wrong)}
    found = comparing.compare("it", right, made, repeat(("a", "b")), 7)
    assert (found.in_scope, found.distinct) == (7, 1)
    assert found.differences == {"right": 0, "wrong": 1}
    assert found.first == "wrong: ('a', 'b') -> [1, 0], not [True, False]"
    with pytest.raises(AssertionError):
        comparing.assert_agrees(found)


def test_inputs_without_meaning_or_out_of_scope_do_not_count() -> None:
    program = handcraft.parse(
        'vocab "abc"; context 2; assume tokens != "c"; output {"a": 1, "c": 2}[tokens];'
    )
    assert comparing.expected(program, ("a", "a")) == [1, 1]
    assert comparing.expected(program, ("a", "b")) is None
    assert comparing.expected(program, ("a", "c")) is None
    found = comparing.compare("it", program, {}, repeat(("a", "b")), 5)
    assert (found.in_scope, found.distinct) == (0, 0)


def test_a_large_model_leaves_out_products_with_zero_on_most_inputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = handcraft.parse('vocab "ab"; context 3; output tokens;')
    wrong = handcraft.parse('vocab "ab"; context 3; output "a";')
    made = {"it": handcraft.compile(program), "wrong": handcraft.compile(wrong)}
    monkeypatch.setattr(comparing, "AFFORDED", made["it"].parameters.n_parameters)
    drawn = (tuple(chance.choices("ab", k=3)) for chance in map(Random, range(99)))
    found = comparing.compare("it", program, made, drawn, 15)
    assert (found.in_scope, found.in_full["it"]) == (15, 5)
    assert found.compared == {"it": found.distinct, "wrong": found.distinct}
    assert (found.differences["it"], found.differences["wrong"]) == (0, found.distinct - 1)
    assert found.distinct > 6


@pytest.mark.parametrize("name", ["sort", "frac_prevs", "dyck2_ptf"])
def test_products_with_zero_can_be_left_out(name: str) -> None:
    (path,) = (path for path in comparing.FILES if path.stem == name)
    model = handcraft.compile(path, optimize=0)
    drawn = texts.inputs(name, handcraft.parse(path), model.config.context, Random(name))
    asked = list(islice(drawn, 20))
    sparse = nonzero(model)
    assert sparse.run_batch(asked) == model.run_batch(asked)
    for text in asked:
        assert np.allclose(sparse.logits(text), model.logits(text), rtol=1e-6, atol=1e-3)


def test_a_bidirectional_prediction_counts_at_the_last_position_alone() -> None:
    program = handcraft.parse('vocab "ab"; context 3; attention bidirectional; predict tokens;')
    assert comparing.expected(program, ("a", "a", "b")) == ["b"]


@every_file
def test_inputs_are_of_one_length_and_in_scope(path: Path) -> None:
    program = handcraft.parse(path)
    for length in comparing.LENGTHS:
        larger = comparing.filled(path, length)
        drawn = list(islice(texts.inputs(path.stem, program, length, Random(length)), 12))
        assert {len(text) for text in drawn} == {length}
        assert sum(comparing.expected(larger, text) is not None for text in drawn) >= 6


def test_every_writer_belongs_to_a_program() -> None:
    assert texts.WRITERS.keys() <= {path.stem for path in comparing.FILES}


def test_results_are_told_in_a_table() -> None:
    heading, *lines = table(
        [
            comparing.Result("sort", 20, 1500, 1200, {"O2": 1200}, {"O0": 90}, {"O2": 3}, "x", 2.5),
            comparing.Result("sort", 9, 7, 5, {"O0": 5}, {"O0": 5}, {"O0": 0}, None, 0.25),
            comparing.Result("hist", 9, 30, 20, {"O0": 20}, {"O0": 20}, {}, None, 1),
        ]
    )
    assert "in scope, 9 tokens" in heading
    assert [line.split() for line in lines] == [
        ["hist", "30", "(20)", "-", "20", "0", "1.0"],
        ["sort", "7", "(5)", "1,500", "(1,200)", "5", "3", "2.8"],
        ["all", "37", "1,500", "5", "3", "3.8"],
    ]
