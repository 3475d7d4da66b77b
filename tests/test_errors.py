"""Wrong programs and inputs, each beside the whole message that it must give.

`errors/<name>.rasp` is a program. Where `errors/<name>.input` is there, its line is a method of
the program and the text it is called with. `errors/<name>.txt` is what the user is told: the
error, or the warnings of a program that is legal.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import handcraft

ERRORS = Path(__file__).with_name("errors")
PROGRAMS = sorted(ERRORS.glob("*.rasp"))
HOSTILE = [path for path in PROGRAMS if path.stem.startswith("hostile_")]


@pytest.fixture(autouse=True)
def _beside_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ERRORS)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_mistake_is_told_with_its_place_and_the_way_out(path: Path) -> None:
    assert told(path) == path.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)
def test_a_hostile_program_is_refused_within_a_second(path: Path) -> None:
    begin = time.process_time()
    with pytest.raises(handcraft.HandcraftError):
        handcraft.parse(path)
    assert time.process_time() - begin < 1


def test_every_expected_message_belongs_to_a_program() -> None:
    names = {path.stem for path in PROGRAMS}
    assert {path.stem for path in ERRORS.glob("*.txt")} == names
    assert {path.stem for path in ERRORS.glob("*.input")} < names


def told(path: Path) -> str:
    """Return what a user is told of the program in a file."""
    try:
        program = handcraft.parse(path.name)
        call = path.with_suffix(".input")
        if call.exists():
            method, _, text = call.read_text(encoding="utf-8").removesuffix("\n").partition(" ")
            getattr(program, method)(text)
    except handcraft.HandcraftError as error:
        return f"{error}\n"
    return "".join(f"{warning}\n" for warning in program.warnings)
