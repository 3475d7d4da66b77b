"""The command line with programs and models that read a source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

ENDLESS = 'source "ab"; vocab "ab"; context 3; bos "^"; eos "."; predict "a";\n'

Run = Callable[..., Result]


def test_complete_writes_from_a_source_and_says_how_it_ended(run: Run) -> None:
    result = run("complete", "programs/translate.rasp", "hello world")
    assert result.stdout == "hello world :: hola mundo (eos after 3 steps)\n"
    assert (result.exit_code, result.stderr) == (0, "")
    assert run("complete", "translate", "").stdout == " ::  (eos after 1 step)\n"


def test_a_model_file_writes_the_same(run: Run) -> None:
    told = run("compile", "translate", "-O2", "-o", "translate.npz").stdout
    assert "source       context 8 and a start token\n" in told
    assert "encoder      layers none, d_model 6\n" in told
    assert "layers       1 (no heads, 1 cross head, no MLP)\n" in told
    assert "window       none: what is written from a source ends in the context\n" in told
    result = run("complete", "translate.npz", "how world ?")
    assert result.stdout == "how world ? :: cómo mundo ? (eos after 4 steps)\n"
    assert run("complete", "translate.npz", "how ?", "-n", "1").stdout == (
        "how ? :: cómo (stopped after 1 step)\n"
    )


def test_a_text_that_comes_to_no_end_fails(run: Run) -> None:
    Path("p.rasp").write_text(ENDLESS, encoding="utf-8")
    result = run("complete", "p.rasp", "b")
    assert result.stdout == "b :: aaa (no . in the context of 3 tokens)\n"
    assert result.exit_code == 1


def test_an_unknown_word_is_told_with_the_closest_known_one(run: Run) -> None:
    result = run("complete", "translate", "hello wrld")
    assert result.exit_code == 1
    assert result.stderr == (
        "<input>:1:7: unknown-token: `wrld` at position 1 is not in the vocabulary\n"
        "1 | hello wrld\n"
        "          ^^^^\n"
        "help: write `world`\n"
    )


def test_run_takes_what_is_written_already(run: Run) -> None:
    assert run("run", "translate", "hello world", "--target", "hola").stdout == "mundo\n"
    run("compile", "translate", "-o", "translate.npz")
    written = run("run", "translate.npz", "hello world", "--target", "hola mundo")
    assert written.stdout == "mundo EOS\n"
    without = run("run", "aab", "aab", "--target", "a")
    assert without.stderr.startswith("bad-target: only a program with a `source`")


def test_check_tries_sources(run: Run) -> None:
    result = run("check", "transduce", "--longest", "2", "--random", "10", "-O", "0,2")
    assert result.exit_code == 0
    assert "inputs     13 of length up to 2 over a b c, 10 random; 23 in scope\n" in result.stdout
    assert "O2 float64  0 differences\n" in result.stdout


def test_check_tells_an_example_that_is_not_written_to_its_end(run: Run) -> None:
    Path("p.rasp").write_text(f'{ENDLESS}example "b" -> "a";\n', encoding="utf-8")
    result = run("check", "p.rasp", "--longest", "1", "--random", "2")
    assert result.exit_code == 1
    assert 'line 2, "b": expected a, interpreter gives aaa and no end\n' in result.stdout


def test_explain_shows_the_steps_from_a_source(run: Run) -> None:
    told = run("explain", "translate", "--text", "hello").stdout
    assert "encoder embedding\n" in told
    assert told.endswith("answers\n   SOS  hola\n  hola  EOS\n")
    part = run("explain", "translate", "--text", "hello ?", "--target", "hola").stdout
    assert part.endswith("answers\n   SOS  hola\n  hola  ?\n")
    assert run("explain", "translate", "--target", "hola").exit_code == 2


@pytest.mark.parametrize("stage", ["typed", "account", "graph", "placed", "weights", "manifest"])
def test_every_stage_is_printed(run: Run, stage: str) -> None:
    result = run("compile", "transliterate", "--emit", stage)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout
