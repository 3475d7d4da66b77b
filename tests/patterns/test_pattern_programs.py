"""The programs of `programs/patterns`: their examples, and their weights at every level."""

from __future__ import annotations

from pathlib import Path

import pytest

import handcraft
from handcraft.checking import check

FOLDER = Path(__file__).parents[2] / "programs" / "patterns"
FILES = sorted(FOLDER.glob("*.rasp"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_program_gives_what_its_examples_say(path: Path) -> None:
    program = handcraft.parse(path)
    assert program.examples
    for example in program.examples:
        if isinstance(example.expected, str):
            got: object = program.complete(example.input, len(example.expected))
        else:
            got = tuple(program.run(example.input))
        assert got == example.expected


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_weights_say_what_it_says(path: Path, level: int) -> None:
    program = handcraft.parse(path)
    model = handcraft.compile(program, optimize=level)
    report = check(program, {"float32": model}, longest=4, random=60)
    assert report.compared > 100
    assert report.verdicts["float32"].differences == 0
    assert not report.failures


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_gallery_page_lists_it(path: Path) -> None:
    page = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    assert f"| `patterns/{path.name}` |" in page
