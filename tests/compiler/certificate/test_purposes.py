"""A graph that computes something else exactly is not proved: one change at a time is found."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program_files import FILES

import handcraft
from handcraft.checking import check
from handcraft.compiler.assemble import assemble, config_of
from handcraft.compiler.certificate.certify import bounds, certify
from handcraft.compiler.forms import START, Form
from handcraft.compiler.graph import Head, MlpOp, Neuron, ValueReadout
from handcraft.compiler.levels import passes_of
from handcraft.compiler.placement import placement
from handcraft.testing import ATTENTIONS, programs

if TYPE_CHECKING:
    from handcraft.compiler.graph import Op, Writes
    from handcraft.compiler.place import Placed
    from handcraft.compiler.placement import Placement

TESTS = Path(__file__).parents[2]
LEVELS = (0, 1, 2)
REFUSED = {"not-yet", "domain-too-large", "no-meaning", "format"}
FACTORS = (Fraction(2), Fraction(-1), Fraction(101, 100))


def changed_form(form: Form, draw: random.Random) -> Form:
    """Return a form with one other coefficient; what it reads of the start token stays."""
    places = [i for i, (d, _) in enumerate(form.terms) if d != START]
    if not places:
        return form
    terms = list(form.terms)
    place = draw.choice(places)
    terms[place] = (terms[place][0], terms[place][1] * draw.choice(FACTORS))
    return Form(tuple(terms), form.constant)


def changed_head(head: Head, draw: random.Random) -> Head:
    """Return a head with one other coefficient of a key, a query or a column."""
    what = draw.choice(("keys", "queries", "columns"))
    if what == "columns" and head.columns:
        columns = list(head.columns)
        place = draw.randrange(len(columns))
        form = changed_form(columns[place].form, draw)
        columns[place] = replace(columns[place], form=form)
        return replace(head, columns=tuple(columns))
    forms = list(head.keys if what == "keys" else head.queries)
    if forms:
        place = draw.randrange(len(forms))
        forms[place] = changed_form(forms[place], draw)
    if what == "keys":
        return replace(head, keys=tuple(forms))
    return replace(head, queries=tuple(forms)) if what == "queries" else head


def changed_mlp(op: MlpOp, draw: random.Random) -> MlpOp:
    """Return neurons of which one is missing, or reads or writes something else."""
    neurons = list(op.neurons)
    place = draw.randrange(len(neurons))
    neuron = neurons[place]
    match draw.choice(("drop", "read", "write", "swap")):
        case "drop":
            del neurons[place]
        case "read":
            neurons[place] = replace(neuron, pre=changed_form(neuron.pre, draw))
        case "write" if neuron.writes:
            d, c = neuron.writes[0]
            other = ((d, c * draw.choice(FACTORS)), *neuron.writes[1:])
            neurons[place] = replace(neuron, writes=other)
        case _:
            return swapped(op, draw)
    return replace(op, neurons=tuple(neurons))


def swapped(op: MlpOp, draw: random.Random) -> MlpOp:
    """Return an operation with two of its outputs swapped."""
    targets = sorted(
        {d for writes in (op.bias, *(n.writes for n in op.neurons)) for d, _ in writes}
    )
    if len(targets) < 2:
        return op
    one, other = draw.sample(targets, 2)
    exchange = {one: other, other: one}

    def written(writes: Writes) -> Writes:
        return tuple(sorted((exchange.get(d, d), c) for d, c in writes))

    neurons = tuple(Neuron(n.pre, written(n.writes)) for n in op.neurons)
    return replace(op, neurons=neurons, bias=written(op.bias))


def with_one_change(placed: Placed, draw: random.Random) -> tuple[Placed, Op] | None:
    """Return a placed graph with one operation changed, and the operation; None if none was."""
    number = draw.randrange(len(placed.layers)) if placed.layers else None
    if number is None:
        return None
    layer = placed.layers[number]
    ops: list[Op] = [*layer.heads, *(m for m in layer.mlps if m.name not in placed.clears)]
    ops = [op for op in ops if isinstance(op, Head) or op.neurons]
    if not ops:
        return None
    op = draw.choice(ops)
    new = changed_head(op, draw) if isinstance(op, Head) else changed_mlp(op, draw)
    if new == op:
        return None
    heads = tuple(
        new if h is op else h for h in layer.heads if isinstance(new, Head) or h is not op
    )
    mlps = tuple(new if m is op else m for m in layer.mlps if isinstance(new, MlpOp) or m is not op)
    layers = list(placed.layers)
    layers[number] = replace(layer, heads=heads, mlps=mlps)  # type: ignore[arg-type]
    return replace(placed, layers=tuple(layers)), new


def found(stages: Placement, placed: Placed, op: Op) -> bool:
    """Return whether the certificate finds the operation, and proves nothing."""
    config = config_of(stages.placed, stages.typed.header)
    certificate = certify(placed, config)
    reasons = {verdict.reason for verdict in certificate.verdicts}
    words = op.text.partition("; ")[0]
    return not certificate.proved and reasons == {f"`{words}` does not compute what it is for"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_change_of_a_program_is_found(path: Path) -> None:
    draw = random.Random(path.stem)
    level = LEVELS[FILES.index(path) % len(LEVELS)]
    stages = placement(handcraft.parse(path).typed, passes_of(level))
    config = config_of(stages.placed, stages.typed.header)
    assert bounds(stages.placed, config).astray == frozenset()
    for _ in range(4):
        changed = with_one_change(stages.placed, draw)
        assert changed is None or found(stages, *changed), (changed[1], level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_change_of_a_random_program_is_found(attention: str, level: int) -> None:
    seen = 0

    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
    @given(programs(attention=attention), st.randoms(use_true_random=False))
    def attack(text: str, draw: random.Random) -> None:
        nonlocal seen
        try:
            stages = placement(handcraft.parse(text).typed, passes_of(level))
        except handcraft.HandcraftError as error:
            if error.code not in REFUSED:
                raise
            return
        assert (
            bounds(stages.placed, config_of(stages.placed, stages.typed.header)).astray
            == frozenset()
        )
        changed = with_one_change(stages.placed, draw)
        if changed is not None:
            seen += 1
            assert found(stages, *changed)

    attack()
    assert seen > 5


def test_a_change_that_is_found_is_one_of_the_weights() -> None:
    stages = placement(handcraft.parse(TESTS.parent / "programs" / "sort.rasp").typed, passes_of(2))
    changed = with_one_change(stages.placed, random.Random(1))
    assert changed is not None
    right = assemble(stages.placed, stages.typed.header, "float64")
    wrong = assemble(changed[0], stages.typed.header, "float64")
    assert any((right[name] != wrong[name]).any() for name in right.arrays)


def test_an_operation_without_a_purpose_is_not_proved() -> None:
    stages = placement(handcraft.parse(TESTS.parent / "programs" / "sort.rasp").typed, passes_of(1))
    placed = stages.placed
    layers = tuple(
        replace(layer, mlps=tuple(replace(m, purpose=None) for m in layer.mlps))
        for layer in placed.layers
    )
    config = config_of(placed, stages.typed.header)
    assert certify(placed, config).proved
    assert certify(replace(placed, layers=layers), config).proved == ()


def test_a_read_out_of_something_else_is_not_proved() -> None:
    stages = placement(
        handcraft.parse('vocab "ab"; context 5; output indices;').typed, passes_of(1)
    )
    config = config_of(stages.placed, stages.typed.header)
    graph = stages.placed.graph
    assert isinstance(graph.readout, ValueReadout)
    other = replace(graph.readout, forms=tuple(reversed(graph.readout.forms)))
    certificate = certify(replace(stages.placed, graph=replace(graph, readout=other)), config)
    reasons = {verdict.reason for verdict in certificate.verdicts}
    assert certificate.proved == ()
    assert reasons == {"the read-out does not read what it is for"}


@pytest.mark.parametrize("context", [5, 6, 8])
def test_a_window_of_two_between_keys_leaves_the_start_token_out(context: int) -> None:
    text = f"""
        vocab "ab";
        context {context};
        both = aggregate(select(indices, indices - 1, >=), indicator(tokens == "a"));
        output both + selector_width(select(tokens, tokens, ==));
    """
    program = handcraft.parse(text)
    model = handcraft.compile(program, optimize=2)
    assert check(program, {"float32": model}, longest=4, random=20).holds
