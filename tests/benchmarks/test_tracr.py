"""Our side of the table beside Tracr's: the programs are right, and their sizes are kept.

Sizes are compared with the figures of Tracr that are stored; nothing is installed.
"""

from __future__ import annotations

from functools import cache
from statistics import geometric_mean

import pytest
import tracr
import tracr_figures
from tracr_figures import FOLDER, PROGRAMS, Figures

import handcraft

STORED = tracr_figures.stored()
LARGEST = {("reverse", 40): 60_000, ("sort_freq", 40): 500_000, ("shuffle_dyck2", 20): 100_000}
"""Parameters at most."""

ours = cache(tracr_figures.ours)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_table_gives_what_its_examples_say(name: str) -> None:
    program = handcraft.parse(FOLDER / f"{name}.rasp")
    model = handcraft.compile(program, optimize=2)
    assert program.examples
    assert not program.warnings
    for example in program.examples:
        assert tuple(program.run(example.input)) == example.expected
        assert tuple(model.run(example.input)) == example.expected


def test_the_table_holds_every_program_beside_it() -> None:
    assert {path.stem for path in FOLDER.glob("*.rasp")} == set(PROGRAMS)
    assert {name for name, _ in STORED} == set(PROGRAMS)


@pytest.mark.parametrize(("name", "length"), STORED)
def test_a_program_has_no_more_layers_than_tracr_and_no_wider_stream(
    name: str, length: int
) -> None:
    mine, theirs = ours(name, length), STORED[name, length]
    assert mine.layers <= theirs.layers
    assert mine.d_model <= theirs.d_model


@pytest.mark.parametrize(("name", "length"), LARGEST)
def test_a_program_that_tracr_makes_huge_stays_small(name: str, length: int) -> None:
    assert ours(name, length).parameters < LARGEST[name, length]


@pytest.mark.parametrize(("length", "times", "programs"), [(10, 10, 11), (40, 50, 10)])
def test_programs_have_many_times_fewer_parameters_than_tracr(
    length: int, times: int, programs: int
) -> None:
    ratios = [
        tracr.fewer(ours(name, length), theirs)
        for (name, at), theirs in STORED.items()
        if at == length
    ]
    assert len(ratios) == programs
    assert geometric_mean(ratios) >= times


def test_parameters_leave_out_the_unembedding_alone() -> None:
    model = handcraft.compile(FOLDER / "hist.rasp", optimize=2)
    mine = ours("hist", 10)
    assert mine.unembedding == model.weights["lm_head.weight"].size
    assert mine.parameters + mine.unembedding == model.parameters.n_parameters


def test_the_table_puts_ours_before_tracrs_and_marks_what_is_stored() -> None:
    mine, theirs = Figures(1, 2, 3, 4, 50, 6, 0.5, 7), Figures(8, 9, 10, 11, 1200, 13, 2.0)
    rows = [
        tracr.Row("length", 10, mine, theirs, measured=True),
        tracr.Row("hist", 40, mine, theirs, measured=False),
        tracr.Row("sort", 20, mine, None, measured=False),
    ]
    lines = [" ".join(line.split()) for line in tracr.table(rows)]
    assert lines[1:] == [
        "length 10 1 / 8 2 / 9 3 / 10 4 / 11 50 / 1,200 +7 6 / 13 24.0x 0.500 / 2.000 4.0x",
        "hist 40 1 / 8* 2 / 9* 3 / 10* 4 / 11* 50 / 1,200* +7 6 / 13* 24.0x 0.500 / 2.000* 4.0x",
        "sort 20 1 / - 2 / - 3 / - 4 / - 50 / - +7 6 / - - 0.500 / - -",
    ]


def test_the_means_are_geometric_and_over_the_programs_with_a_figure() -> None:
    mine, half = Figures(1, 1, 1, 1, 10, 1, 1.0), Figures(1, 1, 1, 1, 5, 1, 3.0)
    rows = [
        tracr.Row(str(number), length, mine, theirs, measured=False)
        for length in (10, 40)
        for number, theirs in enumerate((half, Figures(1, 1, 1, 1, 80, 1, 12.0), None))
    ]
    assert list(tracr.means(rows)) == [
        "2.0 times fewer parameters at L = 10, geometric mean of 2 programs",
        "2.0 times fewer parameters at L = 40, geometric mean of 2 programs",
        "6.0 times faster compiled at L = 40, geometric mean of 2 programs",
    ]
