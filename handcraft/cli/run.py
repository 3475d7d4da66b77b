"""`handcraft run`: the answer at each position of a text."""

from __future__ import annotations

import json
from fractions import Fraction

import click

from handcraft.cli.opening import Given, is_program, open_model, open_program
from handcraft.cli.options import program_options
from handcraft.cli.text import TextCommand


@click.command(cls=TextCommand)
@click.argument("file")
@click.argument("text")
@click.option("--target", default="", help="What is written already, where TEXT is a source.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@program_options
def run(file: str, text: str, target: str, as_json: bool, given: Given) -> None:
    """Print what a model or a program FILE says at each position of TEXT.

    A program is interpreted, a model is run. If TEXT is a source, the positions are those of what
    is written from it.
    """
    source = open_program(file, given) if is_program(file) else open_model(file, given)
    answers = source.run(text, target)
    if as_json:
        click.echo(json.dumps(answers, default=_number, ensure_ascii=False))
        return
    from handcraft.explain import shown

    click.echo(" ".join(map(shown, answers)))


def _number(value: object) -> float:
    assert isinstance(value, Fraction), f"no answer is {value!r}"
    return float(value)
