"""`handcraft explain`: every component in the program's own words, and what it did with a text."""

from __future__ import annotations

import click

from handcraft.cli.opening import Given, open_model
from handcraft.cli.options import program_level_option, program_options
from handcraft.cli.printing import print_page


@click.command()
@click.argument("file")
@click.option("--text", help="Also show what each head does with this text.")
@click.option("--target", help="What is written already, where TEXT is a source.")
@click.option("--lines", is_flag=True, help="Show what does the work of each line, and no more.")
@program_options
@program_level_option
def explain(
    file: str,
    text: str | None,
    target: str | None,
    lines: bool,
    given: Given,
    optimize: int | None,
) -> None:
    """Explain the components of a model or a program FILE."""
    from handcraft.explain import explain as explained
    from handcraft.explain import explain_lines, explain_run

    if lines and text is not None:
        raise click.UsageError("--lines is about the program and --text about one text: give one")
    if target is not None and text is None:
        raise click.UsageError("--target stands beside a source: give that by --text")
    model = open_model(file, given, optimize)
    if lines:
        print_page(explain_lines(model))
        return
    run = "" if text is None else "\n" + explain_run(model, text, target)
    print_page(explained(model) + run)
