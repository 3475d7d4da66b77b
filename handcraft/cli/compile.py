"""`handcraft compile`: a program becomes weights, and what they cost is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import click

from handcraft.cli.building import compile_in
from handcraft.cli.costs import tell_costs, tell_line, write
from handcraft.cli.opening import Given, find_program, open_program
from handcraft.cli.options import (
    budget_option,
    dtype_option,
    level_option,
    program_options,
    proof_options,
    strict_option,
    target_option,
)
from handcraft.cli.printing import print_page

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from handcraft.cli.building import Proof
    from handcraft.language.program import Program

    Stage: TypeAlias = Literal["typed", "account", "graph", "placed", "weights", "manifest"]


@click.command("compile")
@click.argument("program")
@target_option
@program_options
@dtype_option
@level_option
@budget_option
@proof_options
@strict_option
@click.option(
    "--emit",
    type=click.Choice(["tree", "typed", "account", "graph", "placed", "weights", "manifest"]),
    help="Print this stage of the compilation, what each pass saves (account), or what does the"
    " work of each line (manifest), and nothing else.",
)
def compile_(
    program: str,
    target: str | None,
    given: Given,
    formats: tuple[str, ...],
    optimize: int,
    budget: dict[str, int] | None,
    proof: Proof,
    strict: bool,
    emit: Literal["tree"] | Stage | None,
) -> None:
    """Compile PROGRAM to the weights of a transformer and say what they cost."""
    if emit is not None and target is not None:
        raise click.UsageError("--emit prints a stage and -o writes the weights: give one of them")
    if emit is not None and budget is not None:
        raise click.UsageError("--emit prints a stage and --budget judges the model: give one")
    if emit == "tree":
        print_page(_tree(program))
        return
    read = open_program(program, given, strict=strict)
    if emit is not None:
        print_page(_stage(read, formats, optimize, proof, emit))
        return
    model = compile_in(read, formats, optimize, budget, proof)[formats[0]].model
    written = write(model, target, formats[0])
    tell_costs(read, model, formats, optimize, budget)
    tell_line("written", written)


def _tree(name: str) -> str:
    """Return the syntax tree of a file; the header may lack what options would give."""
    from handcraft.language.dump import dump
    from handcraft.language.files import read_source
    from handcraft.language.parse import parse

    path = find_program(name)
    return dump(parse(read_source(path, path.as_posix())))


def _stage(
    program: Program, formats: tuple[str, ...], optimize: int, proof: Proof, stage: Stage
) -> str:
    from handcraft.compiler.account import account
    from handcraft.explain import explain_lines
    from handcraft.language.typed_text import typed_text
    from handcraft.runtime.weights_text import weights_text

    if stage == "typed":
        return typed_text(program.typed)
    if stage == "account":
        return account(program, optimize=optimize).show()
    compiled = compile_in(program, formats, optimize, proof=proof)[formats[0]]
    match stage:
        case "graph":
            return compiled.graph.show()
        case "placed":
            return compiled.placed.show()
        case "weights":
            return weights_text(compiled.model)
        case "manifest":
            return explain_lines(compiled.model)
        case _:
            assert_never(stage)
