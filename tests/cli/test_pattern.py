"""`handcraft pattern`: what is told, what is written, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import handcraft
from handcraft.cli.commands import handcraft as commands

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def pattern(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["pattern", *arguments])


def lines(result: Result) -> dict[str, str]:
    assert result.exit_code == 0, result.output
    pairs = (line.split("  ", 1) for line in result.stdout.splitlines())
    return {name: value.strip() for name, value in pairs}


def test_it_tells_what_a_pattern_costs_and_how_it_goes_on() -> None:
    told = lines(pattern("(aab)*", "--context", "5"))
    assert told["patterns"] == "(aab)*: the last 2 tokens decide by their mean"
    assert told["layers"] == "1 (1 head, no MLP)"
    assert told["d_model"] == "7"
    assert told["continues"] == "a :: abaabaabaa"
    assert told["window"] == "safe: the last 2 tokens decide what follows"
    assert told["written"] == "nothing: give `-o F.npz`"


def test_a_model_that_it_writes_is_that_of_the_program(tmp_path: Path) -> None:
    target = tmp_path / "p.npz"
    told = lines(pattern("(aab)*", "--context", "12", "-o", str(target), "-O", "2"))
    assert "continues" not in told
    assert told["level"] == "2"
    model = handcraft.load(target)
    program = 'vocab "ab"; context 12; predict next("(aab)*");'
    again = handcraft.compile(program, optimize=2)
    assert model.complete("aab") == "aabaabaaba"
    for name, array in again.weights.items():
        assert array.tobytes() == model.weights[name].tobytes()


@pytest.mark.parametrize(
    ("arguments", "continues"),
    [
        (("ab|ac", "--context", "6"), "a :: b"),
        (("(ab)*", "--context", "6", "--bos", "^"), ":: ababababab"),
        (("a*b", "--context", "4", "--eos", "$", "--vocab", "ba"), "b ::"),
        (("so long", "--context", "6", "--vocab", '["so", "long"]'), "so :: long"),
        (("1 2*", "--context", "3", "--vocab", "0..9", "--eos", "9"), "1 :: 2 2 2 2 2 2 2 2 2 2"),
        (("a(ba){20}", "--context", "5"), "a :: babab"),
    ],
)
def test_a_continuation_begins_where_a_text_can(arguments: tuple[str, ...], continues: str) -> None:
    assert lines(pattern(*arguments))["continues"] == continues


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("(ab", "--context", "4"), "<pattern>:1:1: syntax: "),
        (("~a", "--context", "4"), "<pattern>:1:1: needs-vocabulary: "),
        (("abc", "--context", "4", "--vocab", "ab"), "<pattern>:1:3: unknown-symbol: "),
        (("a&b", "--context", "4"), "<pattern>:1:1: empty-language: "),
        (("((a{99}){99}){99}", "--context", "4"), "<pattern>:1:2: pattern-too-large: "),
        (("()", "--context", "4", "--vocab", "ab"), "no-meaning: "),
        (("aa", "--context", "4", "--vocab", "aa"), "--vocab:1:1: bad-vocabulary: "),
        (("(aab)*", "--context", "5", "--budget", "d_model=2"), "budget: "),
    ],
)
def test_a_mistake_is_told_with_its_place(arguments: tuple[str, ...], place: str) -> None:
    result = pattern(*arguments)
    assert result.exit_code == 1
    assert place in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("a",),
        ("--context", "4"),
        ("a", "--context", "0"),
        ("1", "--context", "4", "--vocab", "0..3", "--eos", "x"),
        ("a", "--context", "4", "--attention", "causal"),
    ],
)
def test_misuse_ends_with_two(arguments: tuple[str, ...]) -> None:
    assert pattern(*arguments).exit_code == 2


def test_complete_tells_the_first_dead_token_of_a_file(tmp_path: Path) -> None:
    target = tmp_path / "p.npz"
    lines(pattern("(ab)*", "--context", "8", "-o", str(target)))
    result = CliRunner().invoke(commands, ["complete", str(target), "abb"])
    assert result.exit_code == 1
    assert 'dead-text: text "abb" cannot be continued: position 3' in result.stderr


def test_compile_tells_how_each_pattern_is_decided(tmp_path: Path) -> None:
    path = tmp_path / "p.rasp"
    path.write_text('vocab "ab"; context 8; output accepts("(a|b)*b") if state("b*a*") else 7;\n')
    result = CliRunner().invoke(commands, ["compile", str(path)])
    assert result.exit_code == 0, result.output
    told = "patterns     b*a*: the last token decides until the first token that leaves for good; "
    assert f"{told}(a|b)*b: the last token decides\n" in result.stdout
