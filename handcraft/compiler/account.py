"""What each pass saves: the sizes of a program's model as its passes are added one by one.

No weights are made: the sizes are those of the placed graph, and equal the model's own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from handcraft.compiler.assemble import config_of
from handcraft.compiler.levels import PASSES, passes_of
from handcraft.compiler.passes.sizes import parameters
from handcraft.compiler.placement import Placement, placement, rows_of, without_patterns
from handcraft.errors import ProgramError

if TYPE_CHECKING:
    from handcraft.compiler.place import Placed
    from handcraft.language.program import Program
    from handcraft.language.typed import TypedProgram


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a model takes.

    Attributes:
        layers: layers, of encoder and decoder together.
        heads: heads of all layers together.
        d_model: width of the residual stream, of the wider one if there are two.
        neurons: neurons of all layers together.
        parameters: numbers in all arrays but `lm_head`.
        lm_head: numbers in an unembedding of its own; 0 where it is tied to the embedding.
    """

    layers: int
    heads: int
    d_model: int
    neurons: int
    parameters: int
    lm_head: int


@dataclass(frozen=True, slots=True)
class Row:
    """What a model takes once a pass is added; None where it cannot be built yet."""

    name: str
    sizes: Sizes | None


@dataclass(frozen=True, slots=True)
class Account:
    """The passes of a level in their order, and the sizes after each.

    Attributes:
        level: the level.
        rows: the first is without any pass, the last the model of the level.
    """

    level: int
    rows: tuple[Row, ...]

    def show(self) -> str:
        """Return a table: what it takes without passes, what each one changes, and the end.

        A dot stands for no change, `-` where it cannot be built yet.
        """
        names = [field.name for field in fields(Sizes)]
        table = [["", *names]]
        before: Sizes | None = None
        for row in self.rows:
            table.append([row.name, *_cells(before, row.sizes)])
            before = row.sizes or before
        table.append([f"level {self.level}", *_cells(None, before)])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "".join(_line(cells, widths) for cells in table)


def account(program: Program, *, optimize: int = 1) -> Account:
    """Return what each pass of a level saves, the passes added in the order of `levels.PASSES`.

    Raises:
        ProgramError: where something cannot be built with all passes of the level.
        HandcraftError: `bad-option` where there is no such level.
    """
    wanted = passes_of(optimize)
    typed = without_patterns(program.typed).typed
    chosen: frozenset[str] = frozenset()
    rows = [Row("without passes", _sizes_if_built(typed, chosen, wanted))]
    for each in PASSES:
        if each.name in wanted:
            chosen |= {each.name}
            rows.append(Row(each.name, _sizes_if_built(typed, chosen, wanted)))
    return Account(optimize, tuple(rows))


def sizes_of(stages: Placement) -> Sizes:
    """Return what the model of a placed graph takes."""
    placed, header = stages.placed, stages.typed.header
    rows = rows_of(header, placed.graph)
    config = config_of(placed, header)
    own = Sizes(
        layers=len(placed.sizes),
        heads=sum(size.n_head + size.n_cross for size in placed.sizes),
        d_model=placed.d_model,
        neurons=sum(size.d_mlp for size in placed.sizes),
        parameters=parameters(placed.sizes, placed.d_model, rows, _width(placed.encoder)),
        lm_head=0 if config.tied else config.n_out * placed.d_model,
    )
    if placed.encoder is None or header.source is None:
        return own
    encoder = placed.encoder
    rows = rows_of(header.source, encoder.graph)
    return Sizes(
        layers=own.layers + len(encoder.sizes),
        heads=own.heads + sum(size.n_head for size in encoder.sizes),
        d_model=max(own.d_model, encoder.d_model),
        neurons=own.neurons + sum(size.d_mlp for size in encoder.sizes),
        parameters=own.parameters + parameters(encoder.sizes, encoder.d_model, rows),
        lm_head=own.lm_head,
    )


def _width(encoder: Placed | None) -> int:
    return 0 if encoder is None else encoder.d_model


def _sizes_if_built(
    program: TypedProgram, passes: frozenset[str], wanted: frozenset[str]
) -> Sizes | None:
    try:
        return sizes_of(placement(program, passes))
    except ProgramError:
        if passes == wanted:
            raise
        return None


def _cells(before: Sizes | None, after: Sizes | None) -> list[str]:
    """Return sizes, or by how much they have changed since those before."""
    names = [field.name for field in fields(Sizes)]
    if after is None:
        return ["-"] * len(names)
    if before is None:
        return [f"{getattr(after, name):,}" for name in names]
    changes = [getattr(after, name) - getattr(before, name) for name in names]
    return [f"{change:+,}" if change else "." for change in changes]


def _line(cells: list[str], widths: list[int]) -> str:
    numbers = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return "  ".join([cells[0].ljust(widths[0]), *numbers]).rstrip() + "\n"
