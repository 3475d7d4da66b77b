"""Every program on random inputs: what is proved of a node holds of what the interpreter finds."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from program_files import FILES

import handcraft
from handcraft.language.domains import Finite, contains
from handcraft.language.interpret import Run
from handcraft.language.sequences import TARGET
from handcraft.language.values import Outcome, Undefined, order

if TYPE_CHECKING:
    from pathlib import Path

    from handcraft.runtime.vocabulary import Token

INPUTS = 12


def inputs(program: handcraft.Program) -> list[tuple[Token, ...]]:
    chance = random.Random(7)
    vocabulary = program.typed.vocabulary
    room = program.context - (vocabulary.bos is not None)
    lengths = [chance.randint(1, room) for _ in range(INPUTS)]
    texts = [chance.choices(vocabulary.tokens, k=length) for length in lengths]
    return [vocabulary.split(text)[: program.context] for text in texts]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_values_lie_in_their_domains_and_counts_within_their_bounds(path: Path) -> None:
    program = handcraft.parse(path)
    for tokens in inputs(program):
        run = Run(program.typed, tokens)
        for number, node in enumerate(program.typed.nodes):
            if node.domain is not None:
                outcomes = [o for o in run.sops[number] if not isinstance(o, Undefined)]
                assert all(contains(node.domain, outcome) for outcome in outcomes)
                continue
            assert node.counts is not None
            for i in range(len(tokens)):
                keys = run.keys(number, i)
                if not isinstance(keys, Undefined):
                    assert node.counts.fewest <= len(keys) <= node.counts.most


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_element_wise_node_is_the_table_of_its_leaves(path: Path) -> None:
    program = handcraft.parse(path)
    for tokens in inputs(program):
        run = Run(program.typed, tokens)
        for number in range(len(program.typed.nodes)):
            for i in range(len(tokens)):
                listed = looked_up(program, run, number, i)
                found = run.column(number, TARGET)[i] if listed is not None else None
                assert (type(found), found) == (type(listed), listed)


def looked_up(program: handcraft.Program, run: Run, number: int, i: int) -> Outcome | None:
    """Return a node's value at position i by its table; None without one, or for no cell."""
    table = program.typed.nodes[number].table
    if table is None:
        return None
    cell = 0
    for leaf in table.leaves:
        domain, outcome = program.typed.nodes[leaf].domain, run.column(leaf, TARGET)[i]
        assert isinstance(domain, Finite)
        if isinstance(outcome, Undefined):
            return None
        cell = cell * len(domain.values) + [order(v) for v in domain.values].index(order(outcome))
    return table.outcomes[cell]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_future_changes_nothing_under_causal_attention(path: Path) -> None:
    program = handcraft.parse(path)
    if not program.causal:
        return
    for tokens in inputs(program):
        whole = program.meaning(tokens).answers
        cut = max(1, len(tokens) // 2)
        assert program.meaning(tokens[:cut]).answers == whole[:cut]
