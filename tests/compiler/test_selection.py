"""Selectors as disjoint conjunctions, and as one table, against the interpreter's matrices."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import handcraft
from handcraft.checking import check
from handcraft.compiler.facts import Facts
from handcraft.compiler.joint import Joint, conjuncts, joint_table
from handcraft.compiler.levels import passes_of
from handcraft.compiler.selection import (
    PLACE,
    Carrier,
    Pair,
    Rows,
    Selection,
    TooManyTermsError,
)
from handcraft.language.domains import Finite
from handcraft.language.interpret import Run
from handcraft.language.typed import Latest
from handcraft.language.values import Undefined, order
from handcraft.testing import ATTENTIONS, inputs, programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handcraft.runtime.vocabulary import Token

CHOSEN = (
    'select(tokens, "a", ==)',
    "select(tokens, tokens, <)",
    "before or select(tokens, tokens, ==)",
    'select(indices, indices - 1, >=) and select(tokens, "b", !=)',
    "not (before and select(tokens, tokens, ==))",
    "not (select(tokens, tokens, <) or select(indices, 1, ==))",
    "select(tokens, tokens, ==) or select(indices, 2 * indices - 3, <=)",
    'first(select(tokens, "a", ==))',
    'latest(before) and select(tokens, "b", ==)',
    "not best(past, indices % 3)",
)


def parsed(selector: str, attention: str) -> handcraft.Program:
    return handcraft.parse(
        f'vocab "abc"; context 5; attention {attention}; output selector_width({selector});'
    )


class Seen:
    """One program on one input: what the interpreter selects, and what tables say of it."""

    def __init__(self, program: handcraft.Program, text: Sequence[Token]) -> None:
        bos = program.typed.vocabulary.bos
        self.program = program
        self.run = Run(program.typed, (*(() if bos is None else (bos,)), *text))
        self.selection: Selection = Facts(program.typed, passes_of(1)).selection

    def pairs(self, selector: int) -> Iterator[tuple[int, int, bool]]:
        """Yield query, key and whether it is selected, for pairs that are seen and have meaning."""
        for i in range(self.run.n):
            keys = self.run.keys(selector, i)
            if not isinstance(keys, Undefined):
                for j in range(i + 1 if self.program.causal else self.run.n):
                    yield i, j, j in keys

    def value(self, carrier: Carrier | None, i: int) -> int | None:
        """Return the number of a variable's value at a position; None where it has none."""
        if carrier is None:
            return 0
        if carrier.kind == PLACE:
            keys = self.run.keys(carrier.node, i)
            if isinstance(keys, Undefined):
                return None
            return keys[0] if keys else self.program.context
        if carrier.node == -1:
            return i
        domain = self.program.typed.nodes[carrier.node].domain
        assert isinstance(domain, Finite)
        outcome = self.run.sops[carrier.node][i]
        if isinstance(outcome, Undefined):
            return None
        return [order(v) for v in domain.values].index(order(outcome))

    def holds(self, pair: Pair, rows: Rows, i: int, j: int) -> bool | None:
        key, query = self.value(pair[0], j), self.value(pair[1], i)
        return None if key is None or query is None else bool(rows[query] >> key & 1)


def assert_terms_are_disjoint_and_right(seen: Seen, selector: int) -> None:
    terms = seen.selection.terms(selector)
    for i, j, selected in seen.pairs(selector):
        found = [[seen.holds(p, rows, i, j) for p, rows in term.items()] for term in terms]
        if not any(part is None for parts in found for part in parts):
            assert [all(parts) for parts in found].count(True) == selected


def assert_parts_and_their_tables_are_right(seen: Seen, selector: int) -> None:
    parts = list(conjuncts(seen.selection, selector))
    tables = [joint_table(seen.selection, part) for part in parts]
    for i, j, selected in seen.pairs(selector):
        found = [in_table(seen, table, i, j) for table in tables]
        if None not in found:
            assert all(found) == selected


def in_table(seen: Seen, table: Joint, i: int, j: int) -> bool | None:
    query = [seen.value(carrier, i) for carrier in table.queries.carriers]
    key = [seen.value(carrier, j) for carrier in table.keys.carriers]
    if None in query or None in key:
        return None
    row = table.rows[table.queries.classes[place(seen, table.queries.carriers, query)]]
    return bool(row >> table.keys.classes[place(seen, table.keys.carriers, key)] & 1)


def place(seen: Seen, carriers: Sequence[Carrier], values: Sequence[int | None]) -> int:
    """Return the number of a tuple of values, the last one counting fastest."""
    every = list(product(*(range(seen.selection.size(carrier)) for carrier in carriers)))
    return every.index(tuple(v for v in values if v is not None))


def selectors(program: handcraft.Program) -> list[int]:
    return [n for n, node in enumerate(program.typed.nodes) if node.domain is None]


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("selector", CHOSEN)
@pytest.mark.parametrize("text", ["abcab", "ccba", "b"])
def test_terms_and_tables_select_what_the_interpreter_selects(
    selector: str, attention: str, text: str
) -> None:
    seen = Seen(parsed(selector, attention), text)
    for number in selectors(seen.program):
        assert_terms_are_disjoint_and_right(seen, number)
        assert_parts_and_their_tables_are_right(seen, number)


@given(programs(), st.data())
def test_so_do_those_of_random_programs(text: str, data: st.DataObject) -> None:
    program = handcraft.parse(text)
    seen = Seen(program, data.draw(inputs(program)))
    for number in selectors(program):
        try:
            assert_terms_are_disjoint_and_right(seen, number)
        except (TooManyTermsError, handcraft.HandcraftError):
            continue
        assert_parts_and_their_tables_are_right(seen, number)


@pytest.mark.parametrize(
    ("selector", "terms"),
    [
        ("full_s", 1),
        ('select(tokens, "a", ==) and select(indices, 2, <)', 1),
        ('select(tokens, "a", ==) or select(tokens, "b", ==)', 1),
        ('select(tokens, "a", ==) or select(indices, 2, <)', 2),
        ('not (select(tokens, "a", ==) and select(indices, 2, <))', 2),
        ('select(tokens, "a", ==) and select(tokens, "b", ==)', 0),
    ],
)
def test_a_selector_has_as_few_terms_as_it_needs(selector: str, terms: int) -> None:
    program = parsed(selector, "bidirectional")
    found = Facts(program.typed, passes_of(1)).selection
    assert len(found.terms(selectors(program)[-1])) == terms


def test_the_causal_mask_makes_what_looks_back_full() -> None:
    for attention, tables in (("causal", 0), ("bidirectional", 1)):
        program = parsed("select(indices, indices, <=)", attention)
        (term,) = Facts(program.typed, passes_of(1)).selection.terms(selectors(program)[-1])
        assert len(term) == tables


def test_too_many_terms_are_told_and_the_table_is_right_all_the_same() -> None:
    every = [(key, query) for key in ("tokens", "earlier") for query in ("tokens", "earlier")]
    every += [("tokens", "place"), ("place", "tokens"), ("earlier", "place"), ("place", "earlier")]
    every += [("place", "indices"), ("indices", "place"), ("tokens", "indices")]
    every += [("indices", "tokens"), ("earlier", "indices"), ("indices", "earlier")]
    halves = [f"select({key}, {query}, ==)" for key, query in every]
    parts = " and ".join(f"({a} or {b})" for a, b in zip(halves[::2], halves[1::2], strict=True))
    program = handcraft.parse(
        "vocab 0..1; context 3; attention bidirectional; earlier = shift(tokens, 1, 0);"
        f"place = shift(indices, -1, 0); output selector_width({parts});"
    )
    seen = Seen(program, (0, 1, 1))
    selector = selectors(program)[-1]
    with pytest.raises(TooManyTermsError):
        seen.selection.terms(selector)
    assert_parts_and_their_tables_are_right(seen, selector)
    report = check(program, {"float32": handcraft.compile(program)}, longest=3, random=0)
    assert report.holds, report


def test_a_selector_of_one_key_is_a_variable_of_positions_and_none() -> None:
    program = parsed("latest(before)", "causal")
    selector = next(n for n, node in enumerate(program.typed.nodes) if isinstance(node.op, Latest))
    (term,) = Facts(program.typed, passes_of(1)).selection.terms(selector)
    (pair,) = term
    assert pair[1] == Carrier(PLACE, selector)
    assert term[pair] == (1, 2, 4, 8, 16, 0)


def test_widths_are_known_where_the_position_decides_them() -> None:
    causal = {"past": (1, 2, 3, 4, 5), "before": (0, 1, 2, 3, 4), 'select(tokens, "a", ==)': None}
    for selector, widths in causal.items():
        program = parsed(selector, "causal")
        found = Facts(program.typed, passes_of(1)).selection
        assert found.widths_by_position(selectors(program)[-1]) == widths
    program = parsed("past", "bidirectional")
    found = Facts(program.typed, passes_of(1)).selection
    assert found.widths_by_position(selectors(program)[-1]) is None


def test_a_table_tells_apart_only_what_matters_and_holds_only_what_is_no_conjunction() -> None:
    program = handcraft.parse(
        'vocab "abcd"; context 8; output aggregate((select(tokens, "a", ==) or '
        "select(hist, hist, <)) and select(indices, indices, !=), indices, -1);",
        attention="bidirectional",
    )
    seen = Seen(program, "abcdabca")
    either, _ = conjuncts(seen.selection, max(selectors(program)))
    table = joint_table(seen.selection, either)
    assert (len(table.keys.classes), max(table.keys.classes) + 1) == (4 * 8, 1 + 8)
    assert len(set(table.rows)) == 8
    model = handcraft.compile(program, optimize=1)
    assert model.config.d_model < 80
