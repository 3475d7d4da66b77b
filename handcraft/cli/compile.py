"""`handcraft compile`: a program becomes weights, and what they cost is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import click

from handcraft.cli.building import compile_in
from handcraft.cli.opening import Given, find_program, open_program
from handcraft.cli.options import (
    budget_option,
    dtype_option,
    level_option,
    program_options,
    strict_option,
)
from handcraft.cli.printing import print_page

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from handcraft.language.program import Program
    from handcraft.runtime.config import Config, LayerConfig
    from handcraft.runtime.model import Model

    Stage: TypeAlias = Literal["typed", "account", "graph", "placed", "weights", "manifest"]


@click.command("compile")
@click.argument("program")
@click.option("-o", "target", metavar="F.npz", help="Write the weights to this file.")
@program_options
@dtype_option
@level_option
@budget_option
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
        print_page(_stage(read, formats[0], optimize, emit))
        return
    model = compile_in(read, formats, optimize, budget)[formats[0]].model
    account = _account(read, model, formats, optimize)
    if budget is not None:
        account["budget"] = _room(model, budget)
    if target is None:
        account["written"] = "nothing: give `-o F.npz`"
    else:
        model.save(target)
        size = Path(target).stat().st_size
        account["written"] = f"{target}, {formats[0]}, {size:,} bytes"
    for name, value in account.items():
        click.echo(f"{name:<11}  {value}")


def _tree(name: str) -> str:
    """Return the syntax tree of a file; the header may lack what options would give."""
    from handcraft.language.dump import dump
    from handcraft.language.files import read_source
    from handcraft.language.parse import parse

    path = find_program(name)
    return dump(parse(read_source(path, path.as_posix())))


def _stage(program: Program, dtype: str, optimize: int, stage: Stage) -> str:
    from handcraft.compiler.account import account
    from handcraft.compiler.pipeline import compile_program
    from handcraft.explain import explain_lines
    from handcraft.language.typed_text import typed_text
    from handcraft.runtime.weights_text import weights_text

    if stage == "typed":
        return typed_text(program.typed)
    if stage == "account":
        return account(program, optimize=optimize).show()
    compiled = compile_program(program, optimize=optimize, dtype=dtype)
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


def _account(
    program: Program, model: Model, formats: tuple[str, ...], optimize: int
) -> dict[str, str]:
    """Return what the weights cost, and what is known about them."""
    config, counts = model.config, dict(model.parameters.counts())
    lm_head = counts.pop("lm_head.weight", None)
    account = {
        "layers": _layers(config),
        "d_model": str(config.d_model),
        "context": str(config.context) + (" and a start token" if config.start else ""),
        "parameters": _numbers(
            sum(count.total for count in counts.values()),
            sum(count.nonzero for count in counts.values()),
        ),
        "lm_head": "none: tied to `wte`" if lm_head is None else _numbers(*lm_head),
        "level": str(optimize),
        "readout": config.readout,
    }
    if model.description.kind != "output":
        account["window"] = _window(program)
    account["formats"] = ", ".join(formats)
    account["certificate"] = "none" if model.certificate is None else "proved"
    return account


def _layers(config: Config) -> str:
    """Return `2 (1 head, no MLP; no heads, 7 neurons)`."""
    sizes = "; ".join(map(_layer, config.layers))
    return f"{config.n_layer} ({sizes})" if sizes else "none"


def _layer(layer: LayerConfig) -> str:
    from handcraft.explain import counted

    neurons = counted(layer.d_mlp, "neuron") if layer.d_mlp else "no MLP"
    return f"{counted(layer.n_head, 'head')}, {neurons}"


def _numbers(total: int, nonzero: int) -> str:
    return f"{total:,}, {nonzero:,} of them not zero"


def _room(model: Model, budget: dict[str, int]) -> str:
    """Return `fits: layers 1 of 4, d_model 7 of 64`."""
    from handcraft.compiler.budget import amounts

    counts = model.parameters.counts()
    parameters = sum(counts[name].total for name in counts if name != "lm_head.weight")
    taken = amounts(model.config.layers, model.config.d_model, parameters)
    return "fits: " + ", ".join(f"{name} {taken[name]:,} of {budget[name]:,}" for name in budget)


def _window(program: Program) -> str:
    if not program.window_safe:
        return "not proved safe: generation stops at the context"
    lookback = program.lookback
    ends = "token decides" if lookback == 1 else f"{lookback} tokens decide"
    return f"safe: the last {ends} what follows"
