"""Every program at every level, in both formats: what is asked of it, and random inputs."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import comparing
import pytest
import texts
from comparing import assert_agrees

import handcraft
from handcraft.checking import check

if TYPE_CHECKING:
    from pathlib import Path

TASKS = json.loads((comparing.TESTS / "data" / "programs.json").read_text(encoding="utf-8"))
OTHERWISE = json.loads((comparing.TESTS / "programs/cases.json").read_text(encoding="utf-8"))
CASES: dict[str, list[Any]] = {}
for task in TASKS:
    CASES.setdefault(OTHERWISE.get(task["name"], task["name"]), []).extend(task["cases"])

INPUTS = 20
LONGEST = 2

every_file = pytest.mark.parametrize("path", comparing.FILES, ids=lambda path: path.stem)


@every_file
def test_it_says_what_is_asked_and_what_the_interpreter_says(path: Path) -> None:
    program = handcraft.parse(path)
    made = comparing.models(program)
    assert list(made) == [f"O{n} {dtype}" for n in (0, 1, 2) for dtype in comparing.FORMATS]
    for model in made.values():
        for case in CASES.get(path.stem, []):
            assert said(model, case) == case["output"]
    report = check(program, made, longest=LONGEST, random=0)
    assert report.holds, report
    room = program.context - (program.typed.vocabulary.bos is not None)
    drawn = texts.inputs(path.stem, program, room, Random(path.stem))
    assert_agrees(comparing.compare(path.stem, program, made, drawn, INPUTS))


def test_every_task_has_its_program() -> None:
    assert CASES.keys() <= {path.stem for path in comparing.FILES}


def said(model: handcraft.Model, case: dict[str, Any]) -> object:
    if isinstance(case["output"], str):
        return model.complete(case["input"], len(case["output"]))
    return [round(float(v), 6) if isinstance(v, Fraction) else v for v in model.run(case["input"])]
