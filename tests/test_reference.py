"""The language reference: each of its programs does what the page says.

A block of `rasp` is a program whose examples must hold, with a header in front where it has
none. A block of `text` below it is all that the program's user is told; its first line may be a
method of the program and the text that it is called with. A program that begins with a comment
of one file name is a file that the next one loads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import handcraft

PAGE = Path(__file__).parents[1] / "grammars" / "README.md"
HEADER = 'vocab "abc"; context 8;\n'
FENCE = re.compile(r"^```(rasp|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.rasp)\n")


@dataclass(frozen=True, slots=True)
class Shown:
    """A program of the page, what its user is told, and the file that it loads."""

    line: int
    program: str
    told: str | None
    loaded: str | None


def shown() -> list[Shown]:
    page = PAGE.read_text(encoding="utf-8")
    blocks = [(page.count("\n", 0, m.start()) + 1, m[1], m[2]) for m in FENCE.finditer(page)]
    programs: list[Shown] = []
    loaded = None
    for number, (line, kind, text) in enumerate(blocks):
        if kind == "rasp" and FILE.match(text):
            loaded = text
        elif kind == "rasp":
            following = blocks[number + 1 : number + 2]
            told = next((below for _, word, below in following if word == "text"), None)
            programs.append(Shown(line, text, told, loaded))
            loaded = None
    return programs


@pytest.mark.parametrize("block", shown(), ids=lambda block: f"line-{block.line}")
def test_a_program_of_the_reference_does_what_the_page_says(
    block: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if block.loaded is not None:
        name = FILE.match(block.loaded)
        assert name is not None
        Path(name[1]).write_text(block.loaded, encoding="utf-8")
    has_header = re.search(r"^(vocab|context)\b", block.program, re.MULTILINE)
    Path("p.rasp").write_text(("" if has_header else HEADER) + block.program, encoding="utf-8")
    assert told(block.told or "") == (block.told or "")


def told(expected: str) -> str:
    """Return what the user of `p.rasp` is told; a call is taken from what is expected."""
    call = re.match(r"(run|complete) (.*)\n", expected)
    front = call[0] if call is not None else ""
    try:
        program = handcraft.parse("p.rasp")
        if call is not None:
            getattr(program, call[1])(call[2])
    except handcraft.HandcraftError as error:
        return f"{front}{error}\n"
    assert program.examples
    for example in program.examples:
        if isinstance(example.expected, str):
            assert program.complete(example.input, len(example.expected)) == example.expected
        else:
            assert tuple(program.run(example.input)) == example.expected
    return front + "".join(f"{warning}\n" for warning in program.warnings)


def test_every_word_of_the_language_is_on_the_page() -> None:
    from handcraft.language import builtins, library
    from handcraft.language.compile_time import DERIVED

    page = PAGE.read_text(encoding="utf-8")
    words = {*builtins.functions(), *library.names(), *DERIVED, "full_s", "past", "before"}
    statements = {"vocab", "context", "bos", "eos", "attention", "source", "predict", "allow"}
    statements |= {"logits", "output", "example", "assume", "load", "def", "for", "return"}
    assert {
        word for word in words | statements if not re.search(rf"`[^`]*\b{word}\b", page)
    } == set()


def test_every_code_of_an_error_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    texts = [
        path.read_text(encoding="utf-8") for path in PAGE.parents[1].glob("tests/errors/*.txt")
    ]
    codes = {
        code
        for text in texts
        for code in re.findall(r"^(?:\S+:\d+:\d+: )?(?:warning: )?([a-z-]+): ", text, re.MULTILINE)
    }
    assert {code for code in codes - {"help"} if f"`{code}`" not in page} == set()
