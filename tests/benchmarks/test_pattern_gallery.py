"""The page of patterns says, and draws, what the compiler makes today."""

from __future__ import annotations

import re
import shlex
from itertools import combinations
from typing import TYPE_CHECKING

import gallery
import pytest
from automaton_drawing import boxes, label, laid_out
from click.testing import CliRunner
from gallery import ENTRIES, FIGURES, PAGE
from patterns import CLASSES, Pattern, eight_states, seconds

from handcraft.cli.commands import handcraft
from handcraft.patterns.automaton import Automaton, numbered
from handcraft.patterns.build import automaton_of

if TYPE_CHECKING:
    from pathlib import Path

TEXT = PAGE.read_text(encoding="utf-8")


def automaton(entry: Pattern) -> Automaton:
    return automaton_of(entry.text, entry.program(gallery.CONTEXT).typed.vocabulary)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_row_of_predictions_is_true(entry: Pattern) -> None:
    assert TEXT.count(f"\n{gallery.next_row(entry)}\n") == 1


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_row_of_recognition_is_true(entry: Pattern) -> None:
    assert TEXT.count(f"\n{gallery.accepts_row(entry)}\n") == 1


@pytest.mark.parametrize("pattern", CLASSES, ids=lambda pattern: pattern.name)
def test_a_row_of_growth_is_true(pattern: Pattern) -> None:
    assert TEXT.count(f"\n{gallery.growth_row(pattern)}\n") == 1


def test_the_tables_have_no_other_rows() -> None:
    rows = re.findall(r"^\| (?!Pattern|Class|---)", TEXT, re.MULTILINE)
    assert len(rows) == 2 * len(ENTRIES) + len(CLASSES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_automaton_is_drawn_as_the_script_draws_it(entry: Pattern) -> None:
    assert gallery.figure_file(entry.name).read_bytes().decode() == gallery.automaton_figure(entry)


def test_growth_is_drawn_from_the_table() -> None:
    figure = gallery.growth_figure(TEXT)
    assert gallery.figure_file("growth").read_bytes().decode() == figure
    assert gallery.growth_figure(TEXT.replace("282,283", "282,999")) != figure


def test_the_commands_of_the_page_say_what_stands_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [line.split("#") for line in TEXT.split("```")[1].strip().splitlines()]
    results = [CliRunner().invoke(handcraft, shlex.split(command)[1:]) for command, _ in commands]
    assert [result.exit_code for result in results] == [0, 0, 0]
    assert results[-1].output.strip() == commands[-1][1].strip()


def test_the_page_shows_every_figure_there_is() -> None:
    shown = re.findall(r"\]\(figures/(\w+)\.svg\)", TEXT)
    assert sorted(shown) == sorted(path.stem for path in FIGURES.iterdir())
    assert sorted(shown) == sorted([*(entry.name for entry in ENTRIES), "growth"])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_states_and_labels_of_a_drawing_stand_apart(entry: Pattern) -> None:
    for (one, width, height), (other, wide, high) in combinations(
        boxes(laid_out(automaton(entry))), 2
    ):
        assert abs(one.x - other.x) > width + wide or abs(one.y - other.y) > height + high


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_no_arrow_runs_over_a_state(entry: Pattern) -> None:
    drawing = laid_out(automaton(entry))
    for arrow in drawing.arrows:
        for share in (part / 20 for part in range(1, 20)):
            point = arrow.at(share)
            for place in drawing.places.values():
                assert (point.x - place.x) ** 2 + (point.y - place.y) ** 2 > 18**2


def test_a_drawing_leaves_dead_states_out() -> None:
    assert set(laid_out(automaton(ENTRIES[0])).places) == {0, 1, 3}


def test_symbols_of_one_arrow_are_joined_and_long_runs_shortened() -> None:
    moves = ((1,) * 6 + (0,),) * 2
    made = numbered(tuple("abcxy9_"), 0, frozenset({1}), moves)
    assert label(made, 0, 1) == "a-c, x, y, 9"
    assert label(made, 0, 0) == "_"


def test_eight_states_are_compiled_within_two_seconds_at_context_64() -> None:
    pattern, _ = eight_states()
    assert seconds(pattern, 64) < 2
