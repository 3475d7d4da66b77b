"""Tells what the weights of a program cost, and what is known about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.language.program import Program
    from handcraft.runtime.config import Config, LayerConfig
    from handcraft.runtime.model import Model


def tell_costs(
    program: Program,
    model: Model,
    formats: tuple[str, ...],
    optimize: int,
    budget: dict[str, int] | None,
) -> None:
    """Print what a model takes, a line for each thing."""
    account = _account(program, model, formats, optimize)
    if budget is not None:
        account["budget"] = _room(model, budget)
    for name, value in account.items():
        tell_line(name, value)
    for name, value in _proof(model):
        tell_line(f"  {name}", value)


def write(model: Model, target: str | None, dtype: str) -> str:
    """Write a model to a file, if there is one to write to, and return what was written."""
    if target is None:
        return "nothing: give `-o F.npz`"
    model.save(target)
    size = Path(target).stat().st_size
    return f"{target}, {dtype}, {size:,} bytes"


def tell_line(name: str, value: str) -> None:
    """Print the value of a name, below that of the name before."""
    click.echo(f"{name:<11}  {value}")


def _account(
    program: Program, model: Model, formats: tuple[str, ...], optimize: int
) -> dict[str, str]:
    """Return what the weights cost, and what is known about them."""
    config, counts = model.config, dict(model.parameters.counts())
    lm_head = counts.pop("lm_head.weight", None)
    patterns = model.description.provenance.get("patterns")
    account = {
        **({} if patterns is None else {"patterns": patterns.replace("pattern ", "")}),
        **({} if config.encoder is None else _encoder(config.encoder)),
        "layers": _layers(config),
        "d_model": str(config.d_model),
        "context": _context(config),
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
    account["certificate"] = "none" if model.certificate is None else model.certificate.text
    return account


def _proof(model: Model) -> Iterator[tuple[str, str]]:
    """Yield what was proved: for each format, for the heads, for the thresholds."""
    certificate = model.certificate
    if certificate is None:
        return
    for verdict in certificate.verdicts:
        off = f"off by at most {verdict.error:.2g} beside a margin of {verdict.margin:.4g}"
        off += f": {100 * verdict.spent:.2g} % of what may be lost"
        yield verdict.format, off if verdict.proved else f"not proved: {verdict.reason}"
    dtype = model.parameters.dtype.name
    used = certificate.formats.index(dtype)
    if certificate.heads:
        gap = min(head.gap for head in certificate.heads)
        leak = max(head.leaks[used] for head in certificate.heads)
        yield "heads", f"smallest gap {gap:g} units, largest leak {leak:.2g} in {dtype}"
    if certificate.thresholds:
        least = min(each.margins[used] for each in certificate.thresholds)
        yield "thresholds", f"at least {least:.3g} times the largest error away in {dtype}"


def _layers(config: Config) -> str:
    """Return `2 (1 head, no MLP; no heads, 7 neurons)`."""
    sizes = "; ".join(map(_layer, config.layers))
    return f"{config.n_layer} ({sizes})" if sizes else "none"


def _layer(layer: LayerConfig) -> str:
    from handcraft.explain import counted

    neurons = counted(layer.d_mlp, "neuron") if layer.d_mlp else "no MLP"
    across = f", {counted(layer.n_cross, 'cross head')}" if layer.n_cross else ""
    return f"{counted(layer.n_head, 'head')}{across}, {neurons}"


def _numbers(total: int, nonzero: int) -> str:
    return f"{total:,}, {nonzero:,} of them not zero"


def _room(model: Model, budget: dict[str, int]) -> str:
    """Return `fits: layers 1 of 4, d_model 7 of 64`."""
    from handcraft.compiler.budget import amounts

    counts = model.parameters.counts()
    parameters = sum(counts[name].total for name in counts if name != "lm_head.weight")
    taken = amounts(model.config.layers, model.config.d_model, parameters)
    return "fits: " + ", ".join(f"{name} {taken[name]:,} of {budget[name]:,}" for name in budget)


def _encoder(encoder: Config) -> dict[str, str]:
    sizes = f"layers {_layers(encoder)}, d_model {encoder.d_model}"
    return {"source": f"context {_context(encoder)}", "encoder": sizes}


def _context(config: Config) -> str:
    return str(config.context) + (" and a start token" if config.start else "")


def _window(program: Program) -> str:
    if program.typed.header.source is not None:
        return "none: what is written from a source ends in the context"
    if not program.window_safe:
        return "not proved safe: generation stops at the context"
    lookback = program.lookback
    ends = "token decides" if lookback == 1 else f"{lookback} tokens decide"
    return f"safe: the last {ends} what follows"
