"""Every program file: its own examples, and the cases of `data/programs.json`, interpreted."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import handcraft

TESTS = Path(__file__).parent
GALLERY = TESTS.parent / "programs"
PLAIN = TESTS / "programs"
FILES = sorted([*GALLERY.glob("*.rasp"), *PLAIN.glob("*.rasp")])
TASKS = json.loads((TESTS / "data" / "programs.json").read_text(encoding="utf-8"))
NAMED_OTHERWISE = json.loads((PLAIN / "cases.json").read_text(encoding="utf-8"))
CASES = [
    pytest.param(task, case, id=f"{task['name']}-{number}")
    for task in TASKS
    for number, case in enumerate(task["cases"])
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_program_gives_what_its_examples_say(path: Path) -> None:
    program = handcraft.parse(path)
    assert program.examples
    for example in program.examples:
        if program.typed.header.source is not None:
            got: object = program.written(example.input)
            assert got == (example.expected, True)
            continue
        if isinstance(example.expected, str):
            got = program.complete(example.input, len(example.expected))
        else:
            got = tuple(program.run(example.input))
        assert got == example.expected


@pytest.mark.parametrize(("task", "case"), CASES)
def test_a_program_gives_what_its_task_asks(task: dict[str, Any], case: dict[str, Any]) -> None:
    program = handcraft.parse(program_file(task["name"]))
    if task["kind"] == "generate":
        got: object = program.complete(case["input"], len(case["output"]))
    else:
        got = [rounded(value) for value in program.run(case["input"])]
    assert got == case["output"]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task["name"])
def test_a_task_that_a_decoder_can_do_is_done_by_one(task: dict[str, Any]) -> None:
    assert handcraft.parse(program_file(task["name"])).causal == task["causal_ok"]


@pytest.mark.parametrize("path", sorted(GALLERY.glob("*.rasp")), ids=lambda path: path.stem)
def test_the_gallery_page_lists_a_program(path: Path) -> None:
    page = (GALLERY / "README.md").read_text(encoding="utf-8")
    assert f"| `{path.name}` |" in page


def program_file(task: str) -> Path:
    name = f"{NAMED_OTHERWISE.get(task, task)}.rasp"
    return GALLERY / name if (GALLERY / name).exists() else PLAIN / name


def rounded(value: object) -> object:
    return round(float(value), 6) if isinstance(value, Fraction) else value
