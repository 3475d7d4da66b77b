"""A program's models of every level and format against its interpreter, on random inputs.

The interpreter runs once for each input. In scope is an input on which the program has a meaning
at every position that counts, and every assumption holds.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import texts
from nonzero import nonzero
from program_files import FILES as FILES

import handcraft
from handcraft.checking import same
from handcraft.language.typed import Output
from handcraft.language.values import Undefined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from handcraft.language.interpret import Answer
    from handcraft.runtime.model import Model

TESTS = Path(__file__).parents[1]

LEVELS: tuple[dict[str, Any], ...] = (
    tuple({"optimize": level} for level in (0, 1, 2))
    if "optimize" in inspect.signature(handcraft.compile).parameters
    else ({},)
)
"""Options of `compile` for each level of optimisation."""

FORMATS = ("float64", "float32")
LENGTHS = (9, 20, 40)
"""Tokens of random inputs, which fill the context."""

BATCH = 256
"""Inputs that are compared side by side."""

AFFORDED = 10**7
"""Multiplications for each input that is wanted, beyond which a model leaves out those by zero."""

DRAWS = 3
"""Inputs that are drawn at most for each that is wanted in scope."""

Models: TypeAlias = "Mapping[str, Model]"
Input: TypeAlias = texts.Input


@dataclass(frozen=True, slots=True)
class Result:
    """What was found for one program at one length.

    Attributes:
        name: the program's file, without its ending.
        length: tokens of each input.
        in_scope: random inputs in scope.
        distinct: how many of them are different.
        compared: how many of these each model was compared on, by level and format.
        in_full: on how many of these it made every product, those by zero included.
        differences: inputs on which a model says otherwise, by level and format.
        first: the first of them, told in a line; None without one.
        seconds: how long it took.
    """

    name: str
    length: int
    in_scope: int
    distinct: int
    compared: Mapping[str, int]
    in_full: Mapping[str, int]
    differences: Mapping[str, int]
    first: str | None
    seconds: float


def models(program: handcraft.Program) -> dict[str, Model]:
    """Return the program's model at every level and in every format."""
    return {
        " ".join((*(f"O{level}" for level in options.values()), dtype)): handcraft.compile(
            program, dtype=dtype, **options
        )
        for options in LEVELS
        for dtype in FORMATS
    }


def filled(path: Path, length: int) -> handcraft.Program:
    """Return a program whose context is filled by texts of that length, without its examples."""
    source = path.read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if not line.startswith("example ")]
    context = length + any(line.startswith("bos ") for line in lines)
    return handcraft.parse("\n".join(lines), context=context)


def compare_at(path: Path, length: int, count: int) -> Result:
    """Compile a program for texts of a length, and compare on so many random ones."""
    start = perf_counter()
    program = filled(path, length)
    drawn = texts.inputs(path.stem, handcraft.parse(path), length, Random(f"{path.stem} {length}"))
    found = compare(path.stem, program, models(program), drawn, count)
    return replace(found, seconds=perf_counter() - start)


def compare(
    name: str, program: handcraft.Program, made: Models, drawn: Iterator[Input], count: int
) -> Result:
    """Compare a program's models with the interpreter on random inputs.

    Args:
        name: what the result is called.
        program: the program.
        made: its models.
        drawn: inputs without end, all of one length.
        count: how many in scope are wanted; fewer are found where they are rare.
    """
    start = perf_counter()
    in_scope = length = 0
    known: dict[Input, bool] = {}
    compared = dict.fromkeys(made, 0)
    in_full = dict.fromkeys(made, 0)
    differences = dict.fromkeys(made, 0)
    sparse: dict[str, Model] = {}
    first: str | None = None
    for batch in _batches(islice(drawn, DRAWS * count)):
        asked: dict[Input, list[Answer]] = {}
        for text in batch:
            length = len(text)
            if text not in known:
                answers = expected(program, text)
                known[text] = answers is not None
                if answers is not None:
                    asked[text] = answers
            in_scope += known[text]
            if in_scope == count:
                break
        for kind, model in made.items():
            fully = min(len(asked), _limit(model, count) - in_full[kind])
            in_full[kind] += fully
            compared[kind] += len(asked)
            items = asked.items()
            found = [*differing(model, dict(islice(items, fully)))]
            if fully < len(asked):
                sparse[kind] = sparse.get(kind) or nonzero(model)
                found += differing(sparse[kind], dict(islice(items, fully, None)))
            differences[kind] += len(found)
            for text, said in found:
                first = first or f"{kind}: {text} -> {said}, not {asked[text]}"
        if in_scope == count:
            break
    seconds = perf_counter() - start
    distinct = sum(known.values())
    return Result(name, length, in_scope, distinct, compared, in_full, differences, first, seconds)


def assert_agrees(result: Result) -> None:
    """Fail where a model differs, or nothing was compared."""
    assert result.in_scope > 0
    assert all(compared == result.distinct for compared in result.compared.values())
    assert all(result.in_full.values())
    assert not any(result.differences.values()), (result.differences, result.first)


def expected(program: handcraft.Program, text: Input) -> list[Answer] | None:
    """Return the answers at the positions that count, `bos` left out; None for out of scope.

    A bidirectional program that predicts is read at the last position alone.
    """
    meaning = program.meaning(text)
    if not meaning.in_scope:
        return None
    answers: list[Answer] = []
    for found in meaning.answers[_first(program, len(meaning.answers)) :]:
        if isinstance(found, Undefined):
            return None
        answers.append(found)
    return answers


def differing(model: Model, asked: Mapping[Input, list[Answer]]) -> Iterator[tuple[Input, object]]:
    """Yield input and what the model says there, wherever that is not what is expected."""
    rows = model.run_batch(list(asked)) if asked else []
    for (text, answers), row in zip(asked.items(), rows, strict=True):
        said = row[len(row) - len(answers) :]
        if said != answers or not all(map(same, answers, said)):
            yield text, said


def _limit(model: Model, count: int) -> int:
    """Return on how many of so many inputs a model makes every product."""
    work = model.parameters.n_parameters * model.config.context
    return min(count, max(1, count * AFFORDED // work))


def _first(program: handcraft.Program, n: int) -> int:
    if not program.causal and not isinstance(program.typed.result, Output):
        return n - 1
    return int(program.typed.vocabulary.bos is not None)


def _batches(inputs: Iterator[Input]) -> Iterator[Sequence[Input]]:
    while batch := list(islice(inputs, BATCH)):
        yield batch
