"""The law with all passes: a model made by them says what the interpreter says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from program_files import FILES

import handcraft
from handcraft.checking import check
from handcraft.compiler.assemble import assemble
from handcraft.compiler.describe import describe
from handcraft.compiler.levels import passes_of
from handcraft.compiler.lower import lower
from handcraft.compiler.passes.dead_code import needed_directions, without_dead_code
from handcraft.compiler.passes.embedding_basis import with_narrow_embeddings
from handcraft.compiler.passes.head_merging import with_merged_heads
from handcraft.compiler.passes.late_constant import with_late_constant
from handcraft.compiler.passes.liveness import with_shared_columns
from handcraft.compiler.passes.packing import packings
from handcraft.compiler.passes.repeats import without_repeats
from handcraft.compiler.passes.sizes import padded
from handcraft.compiler.place import place
from handcraft.runtime.model import Model
from handcraft.testing import programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from handcraft.compiler.graph import Graph
    from handcraft.compiler.place import Placed


GRAPH_PASSES: tuple[Callable[[Graph], Graph], ...] = (
    without_repeats,
    with_merged_heads,
    with_late_constant,
    with_narrow_embeddings,
)

REFUSED = {"not-yet", "domain-too-large", "no-meaning", "format"}
"""Why a well-typed random program may have no model."""

CHEAP, DEAR = 0, 10_000
"""Rows of embeddings at which hardly any column is used again, and all that can be."""


def placements(program: handcraft.Program, level: int) -> Iterator[tuple[str, Placed]]:
    """Yield what each pass makes of what the passes before it made."""
    drafted = lower(program.typed, passes_of(level))
    graph = without_dead_code(drafted, needed_directions(drafted))
    layers = len(place(graph).layers)
    for graph_pass in GRAPH_PASSES:
        graph = graph_pass(graph)
        assert without_dead_code(graph, needed_directions(graph)) == graph, graph_pass
        assert len(place(graph).layers) <= layers
        yield graph_pass.__name__, place(graph)
    for placed in packings(graph):
        yield "packing", placed
        for rows in (CHEAP, DEAR):
            yield f"liveness {rows}", with_shared_columns(placed, rows)
    yield "padding", padded(place(graph))


def models(program: handcraft.Program, level: int) -> dict[str, Model]:
    """Return a model in each format for each placement that differs from all before it."""
    made: dict[str, Model] = {}
    seen = []
    for name, placed in placements(program, level):
        if placed in seen:
            continue
        seen.append(placed)
        for dtype in ("float32", "float64"):
            weights = assemble(placed, program.typed.header, dtype)
            model = Model(weights, program.typed.vocabulary, describe(placed, program))
            made[f"{name} {len(seen)} {dtype}"] = model
    return made


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_programs_keep_their_meaning_after_all_passes(path: Path) -> None:
    program = handcraft.parse(path)
    graph = lower(program.typed, passes_of(2))
    for graph_pass in GRAPH_PASSES:
        graph = graph_pass(graph)
    placed = with_shared_columns(packings(graph)[0], DEAR)
    weights = assemble(placed, program.typed.header, "float32")
    model = Model(weights, program.typed.vocabulary, describe(placed, program))
    report = check(program, {"float32": model}, longest=2, random=12)
    assert report.holds, report


@pytest.mark.parametrize("level", [1, 2])
def test_random_programs_keep_their_meaning_after_every_pass(level: int) -> None:
    @settings(max_examples=12)
    @given(programs())
    def agree(text: str) -> None:
        try:
            program = handcraft.parse(text)
            made = models(program, level)
        except handcraft.HandcraftError as error:
            if error.code not in REFUSED:
                raise
            return
        report = check(program, made, longest=2, random=6)
        assert report.holds, (text, report)

    agree()
