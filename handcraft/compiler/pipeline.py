"""The compiler, read from top to bottom: a program becomes a model, and keeps every stage."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from handcraft.compiler.assemble import assemble, config_of
from handcraft.compiler.budget import check_budget
from handcraft.compiler.certificate.certify import certify, least, refusal
from handcraft.compiler.certificate.scales import NO_LEAK, Scaling
from handcraft.compiler.describe import describe
from handcraft.compiler.levels import HIGHEST, passes_of
from handcraft.compiler.placement import placement
from handcraft.errors import HandcraftError, ProgramError
from handcraft.language.program import Program, parse
from handcraft.runtime.arguments import format_name
from handcraft.runtime.model import Model
from handcraft.runtime.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from handcraft.compiler.budget import Budget
    from handcraft.compiler.graph import Graph
    from handcraft.compiler.place import Placed
    from handcraft.runtime.arguments import Format
    from handcraft.runtime.config import Config
    from handcraft.runtime.recipe import Gap
    from handcraft.runtime.vocabulary import Token

LARGEST_SCALE = 1 << 64


@dataclass(frozen=True, slots=True)
class Compiled:
    """A model and the stages on the way to it."""

    program: Program
    graph: Graph
    placed: Placed
    model: Model


def compile_in(
    program: Program,
    formats: Sequence[Format],
    *,
    optimize: int = 1,
    budget: Budget | None = None,
    gap: Gap | None = None,
    scale: int | None = None,
    allow_unproved: bool = False,
) -> dict[str, Compiled]:
    """Compile a checked program to weights of several formats, proved in each of them.

    Raises:
        ProgramError: where something cannot be built, it cannot be proved in a format, or it does
            not fit the budget.
        HandcraftError: `bad-dtype`, `bad-option`.
    """
    names = tuple(dict.fromkeys(map(format_name, formats)))
    passes = passes_of(optimize)
    with _located(program):
        stages = placement(program.typed, passes)
    placed, header = stages.placed, stages.typed.header
    if budget is not None:
        check_budget(program, stages, optimize, budget)
    config = config_of(placed, header)
    scaling = _scaling(placed, config, names, gap, scale)
    certificate = certify(placed, config, scaling)
    unproved = [name for name in names if name not in certificate.proved]
    if unproved and not allow_unproved:
        error = refusal(placed, config, unproved[0], scaling)
        raise _with_level(error, program, optimize, names, (gap, scale))
    description = describe(placed, program, stages.lowered, stages.constructions, certificate)
    read = None if header.source is None else header.source.vocabulary
    compiled = {}
    for name in names:
        with _located(program):
            weights = assemble(placed, header, name, scaling)
        first = (name, *(other for other in names if other != name))
        recipe = Recipe(program.origin, int(optimize), first, gap, scale, bool(allow_unproved))
        model = Model(weights, header.vocabulary, replace(description, recipe=recipe), read)
        compiled[name] = Compiled(program, placed.graph, placed, model)
    return compiled


def compile_program(
    program: Program,
    *,
    optimize: int = 1,
    dtype: Format = "float32",
    budget: Budget | None = None,
    gap: Gap | None = None,
    scale: int | None = None,
    allow_unproved: bool = False,
) -> Compiled:
    """Compile a checked program to weights of one format; raises what `compile_in` raises."""
    compiled = compile_in(
        program,
        (dtype,),
        optimize=optimize,
        budget=budget,
        gap=gap,
        scale=scale,
        allow_unproved=allow_unproved,
    )
    return compiled[format_name(dtype)]


@contextmanager
def _located(program: Program) -> Iterator[None]:
    """Give an error that is of no single place that of what the program says last."""
    try:
        yield
    except ProgramError as error:
        if error.span is not None:
            raise
        span = program.typed.nodes[-1].span
        raise ProgramError(error.code, error.message, span, help=error.help) from None


def _with_level(
    error: ProgramError,
    program: Program,
    optimize: int,
    names: tuple[str, ...],
    scales: tuple[object, object],
) -> ProgramError:
    """Return a refusal that names the nearest level at which the program is proved, if any is."""
    others = (level for level in range(HIGHEST + 1) if level != optimize)
    for level in sorted(others, key=lambda level: abs(level - optimize)):
        try:
            stages = placement(program.typed, passes_of(level))
            config = config_of(stages.placed, stages.typed.header)
            scaling = _scaling(stages.placed, config, names, *scales)
            proved = certify(stages.placed, config, scaling).proved
        except ProgramError:
            continue
        if set(names) <= set(proved):
            help_ = f"compile at level {level}, where it is proved; or {error.help}"
            return ProgramError(error.code, error.message, error.span, help=help_)
    return error


def _scaling(
    placed: Placed, config: Config, formats: tuple[str, ...], gap: object, scale: object
) -> Scaling:
    if gap not in (None, "least"):
        message = f"a gap is `least` or left out, not `{gap}`"
        raise HandcraftError("bad-option", message)
    if scale is None:
        return NO_LEAK if gap is None else least(placed, config, formats)
    if gap is not None:
        raise HandcraftError("bad-option", "`gap` and `scale` both say how scores are scaled")
    if type(scale) is int and scale > LARGEST_SCALE:
        message = f"a scale is at most {LARGEST_SCALE}"
        raise HandcraftError("bad-option", message, help="the published model's is 1024")
    if type(scale) is not int or scale < 1 or scale & (scale - 1):
        message = f"a scale is a power of two, so that scores stay exact, not `{scale}`"
        raise HandcraftError("bad-option", message, help="the published model's is 1024")
    return Scaling(fixed=scale)


def compile(
    program: Program | str | Path,
    *,
    optimize: int = 1,
    dtype: Format = "float32",
    budget: Budget | None = None,
    gap: Gap | None = None,
    scale: int | None = None,
    allow_unproved: bool = False,
    vocab: str | Sequence[Token] | range | None = None,
    context: int | None = None,
    attention: str | None = None,
    output: str | None = None,
) -> Model:
    """Compile a program to a model.

    Args:
        program: a checked program, a path, a string that ends in `.rasp`, or source text.
        optimize: the level: 0 keeps every step as a component of its own, 1 folds what is free,
            2 makes the model as small as it can.
        dtype: the format of the weights: `float64`, `float32` or `float16`, by name or as
            numpy's type.
        budget: the most that the model may take: `{"layers": 4, "heads": 2, "d_model": 64}`; also
            `d_head`, `d_mlp`, `neurons` and `parameters`.
        gap: `"least"` makes the scores of heads as small as the proof allows; without it losers'
            shares are exactly 0.
        scale: what every head's scores are multiplied by, a power of two; 1024 as published.
        allow_unproved: compile also what cannot be proved in the format.
        vocab: as for `parse`; only for a program that is not checked yet.
        context: the same.
        attention: the same.
        output: the same.

    Raises:
        ProgramError: with every mistake of the program, or what cannot be built; `budget` where
            the model does not fit.
        FileError: if a file cannot be read.
    """
    given = {"vocab": vocab, "context": context, "attention": attention, "output": output}
    if not isinstance(program, Program):
        program = parse(program, vocab=vocab, context=context, attention=attention, output=output)
    elif any(value is not None for value in given.values()):
        names = ", ".join(f"`{name}`" for name, value in given.items() if value is not None)
        message = f"{names} cannot change a program that is checked already"
        raise HandcraftError("bad-option", message, help="give them to `parse`")
    compiled = compile_program(
        program,
        optimize=optimize,
        dtype=dtype,
        budget=budget,
        gap=gap,
        scale=scale,
        allow_unproved=allow_unproved,
    )
    return compiled.model
