"""What a program was read from is kept, and is enough to read it again."""

from __future__ import annotations

from pathlib import Path

import pytest

import handcraft
from handcraft.errors import ProgramError
from handcraft.language.program import Program, parse_again
from handcraft.runtime.recipe import LoadedText, Origin, ProgramText

MAIN = 'vocab "abc";\r\ncontext 4;\nload "parts/one.rasp";\noutput one(indices);\n'
ONE = 'load "two.rasp";\nfor i in [1, 2] { load "two.rasp"; }\ndef one(x) { return x + two; }\n'
TWO = "two = 2;  # é\n"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "parts").mkdir()
    (tmp_path / "main.rasp").write_text(MAIN, encoding="utf-8")
    (tmp_path / "parts" / "one.rasp").write_text(ONE, encoding="utf-8")
    (tmp_path / "parts" / "two.rasp").write_text(TWO, encoding="utf-8")
    return handcraft.parse(tmp_path / "main.rasp")


def test_a_program_keeps_each_text_once_under_its_bare_name(program: Program) -> None:
    assert program.origin == Origin(
        (
            ProgramText("main.rasp", MAIN.replace("\r", "")),
            ProgramText("one.rasp", ONE),
            ProgramText("two.rasp", TWO),
        ),
        (LoadedText(0, "parts/one.rasp", 1), LoadedText(1, "two.rasp", 2)),
    )


def test_a_program_is_read_again_without_its_files(program: Program) -> None:
    for path in Path(program.source.name).parent.rglob("*.rasp"):
        path.unlink()
    again = parse_again(program.origin)
    assert again.origin == program.origin
    assert again.run("abc") == program.run("abc") == [2, 3, 4]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("ab", "ab"), (["a", "b"], ("a", "b")), (("x",), ("x",)), (range(-1, 2), (-1, 0, 1))],
)
def test_a_given_vocabulary_is_kept_as_characters_or_as_tokens(given: object, kept: object) -> None:
    program = handcraft.parse("output tokens;", vocab=given, context=3)  # type: ignore[arg-type]
    assert program.origin.vocab == kept
    assert parse_again(program.origin).typed.vocabulary == program.typed.vocabulary


def test_a_changed_list_does_not_change_what_was_given() -> None:
    given: list[str | int] = ["a", "b"]
    program = handcraft.parse("output tokens;", vocab=given, context=3)
    given.append("c")
    assert program.origin.vocab == ("a", "b")


def test_a_mistake_in_a_kept_text_has_its_place(program: Program) -> None:
    main, one, _ = program.origin.texts
    wrong = Origin((main, one, ProgramText("two.rasp", "two = ;")), program.origin.loads)
    with pytest.raises(ProgramError) as found:
        parse_again(wrong)
    assert str(found.value).startswith("parts/two.rasp:1:")


def test_a_text_that_was_not_kept_is_missed_where_it_is_loaded(program: Program) -> None:
    with pytest.raises(ProgramError) as found:
        parse_again(Origin(program.origin.texts[:1]))
    assert str(found.value).startswith("main.rasp:3:")
    assert found.value.code == "no-file"
