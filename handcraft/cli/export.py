"""`handcraft export`: a model becomes a folder that other software loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from handcraft.cli.costs import tell_line
from handcraft.cli.opening import Given, open_model
from handcraft.cli.options import program_level_option, program_options

if TYPE_CHECKING:
    from handcraft.compiler.stock.stock import LayerNorm
    from handcraft.exporting.export import Target
    from handcraft.runtime.config import Activation


@click.command()
@click.argument("file")
@click.option(
    "--to",
    "to",
    type=click.Choice(["gpt2", "transformer-lens", "gguf", "onnx", "safetensors", "torch"]),
    required=True,
    help="gpt2, transformer-lens, gguf: a stock GPT-2; the others: the weights as they are.",
)
@click.option(
    "-o",
    "folder",
    metavar="DIR",
    required=True,
    help="Write to this folder; onnx and gguf also to F.onnx and F.gguf.",
)
@click.option(
    "--layer-norm",
    type=click.Choice(["epsilon", "pair"]),
    help="Of a stock GPT-2: a large epsilon (the default), or for software whose epsilon is 1e-5"
    " a pair of large constants.",
)
@click.option(
    "--activation",
    type=click.Choice(["gelu_new", "gelu", "relu"]),
    help="Of a stock GPT-2, gelu_new if not given.",
)
@click.option("--patterns", is_flag=True, help="Give attention patterns as outputs too (onnx).")
@click.option("--allow-unproved", is_flag=True, help="Write also what is not proved.")
@program_options
@program_level_option
def export(
    file: str,
    to: Target,
    folder: str,
    layer_norm: LayerNorm | None,
    activation: Activation | None,
    patterns: bool,
    allow_unproved: bool,
    given: Given,
    optimize: int | None,
) -> None:
    """Write the model or program FILE to a folder that other software loads.

    A program is compiled in float32; for another format, a scale or a gap compile it first.
    """
    from handcraft.exporting.export import export as write

    certificate = write(
        open_model(file, given, optimize),
        folder,
        to=to,
        layer_norm=layer_norm,
        activation=activation,
        patterns=patterns,
        allow_unproved=allow_unproved,
    )
    target = Path(folder)
    for path in sorted(target.iterdir()) if target.is_dir() else [target]:
        click.echo(f"{path.as_posix()}  {path.stat().st_size:,} bytes")
    tell_line("certificate", "none" if certificate is None else certificate.text)
