"""Sizes and times beside Tracr's: `python tests/benchmarks/tracr.py [--long] [--ours]`.

Makes an environment, installs `tracr-pypi` 1.0.0 in it, and measures the programs of Tracr's
library there and here in turn, warm, in one run; whatever else the machine does falls on both.
Before a program is measured, both sides must say the same of its examples. `--long` measures
also what takes Tracr minutes; without it, and with `--ours`, figures measured once stand for
those and are marked `*`.
"""

from __future__ import annotations

import argparse
import compileall
import json
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any

from tracr_figures import FOLDER, PROGRAMS, Figures, ours, stored

import handcraft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TRACR = "tracr-pypi==1.0.0"
LENGTHS = (10, 20, 40)
LONGEST = 100
TAKES_MINUTES = {("sort_freq", 40), ("shuffle_dyck1", 40), ("shuffle_dyck2", 40)}
ROUNDS = 5
SLOW = 5.0
"""Seconds of a first compilation after which only one more is measured."""

PATIENCE = 60.0
"""Seconds of a first compilation after which no second one is awaited."""

COLD = """
import handcraft
text = open(%r, encoding="utf-8").read()
print(handcraft.compile(text, context=5, optimize=2).run("abcde"))
"""


@dataclass(frozen=True, slots=True)
class Row:
    """Both sides of one program at one length; `measured` tells whether theirs are of this run."""

    name: str
    length: int
    ours: Figures
    theirs: Figures | None
    measured: bool


def main() -> None:
    """Measure, and print the table."""
    options = _options()
    if options.ours:
        rows = [alone(name, length) for length in LENGTHS for name in PROGRAMS]
        rows += [alone(name, LONGEST) for name in PROGRAMS]
        print("\n".join(table(rows)))
        print("\n".join(means(rows)))
        return
    python = environment(options.environment)
    rows = []
    with their_side(python) as ask:
        for name in PROGRAMS:
            compare_examples(name, ask)
        for length in LENGTHS:
            for name in PROGRAMS:
                long = (name, length) in TAKES_MINUTES and not options.long
                rows.append(alone(name, length) if long else beside(name, length, ask))
                print(f"{name} {length}", file=sys.stderr)
    print("\n".join(table(rows)))
    print("\n".join(means(rows)))
    print(cold(python))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Sizes and times beside Tracr's.")
    default = Path(tempfile.gettempdir()) / "handcraft-tracr"
    parser.add_argument("--environment", type=Path, default=default, help="folder for Tracr")
    parser.add_argument("--long", action="store_true", help="measure what takes Tracr minutes")
    parser.add_argument("--ours", action="store_true", help="install nothing, measure only ours")
    return parser.parse_args()


def environment(folder: Path) -> Path:
    """Return the Python of an environment with Tracr, made in the folder unless it is there."""
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", TRACR]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stderr}\n{TRACR} cannot be installed in {folder}")
    return python


@contextmanager
def their_side(python: Path) -> Iterator[Callable[[dict[str, Any]], Any]]:
    """Yield a function that puts a request to Tracr's side and returns the answer."""
    command = [python, "-I", FOLDER / "their_side.py"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        requests, answers = process.stdin, process.stdout

        def ask(request: dict[str, Any]) -> Any:
            print(json.dumps(request), file=requests, flush=True)
            return json.loads(answers.readline())

        yield ask
        requests.close()


def compare_examples(name: str, ask: Callable[[dict[str, Any]], Any]) -> None:
    """Stop unless both sides' programs say the same of our examples, where Tracr's has a value."""
    program = handcraft.parse(FOLDER / f"{name}.rasp")
    for example in program.examples:
        answers = ask({"program": name, "text": list(example.input)})
        for said, expected in zip(answers, example.expected, strict=True):
            if said is None:
                continue
            value = float(expected) if isinstance(expected, Fraction) else expected
            same = abs(said - value) < 1e-9 if isinstance(value, float) else said == value
            if not same:
                sys.exit(f"{name}: Tracr's program says {said} where ours says {expected}")


def alone(name: str, length: int) -> Row:
    """Return a row whose other side is a stored figure, if there is one."""
    first = ours(name, length)
    figures = [ours(name, length) for _ in range(ROUNDS if first.seconds < SLOW else 1)]
    return Row(name, length, _typical(figures), stored().get((name, length)), measured=False)


def beside(name: str, length: int, ask: Callable[[dict[str, Any]], Any]) -> Row:
    """Return a row measured in turn, each side warm."""
    request = {"program": name, "length": length}
    ours(name, length)
    theirs = [Figures(**ask(request))]
    mine = [ours(name, length)]
    if theirs[0].seconds < PATIENCE:
        rounds = ROUNDS if max(theirs[0].seconds, mine[0].seconds) < SLOW else 1
        for _ in range(rounds):
            theirs.append(Figures(**ask(request)))
            mine.append(ours(name, length))
        theirs, mine = theirs[1:], mine[1:]
    return Row(name, length, _typical(mine), _typical(theirs), measured=True)


def _typical(figures: Sequence[Figures]) -> Figures:
    return replace(figures[0], seconds=median(each.seconds for each in figures))


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table: ours, a slash, Tracr's."""
    heads = ["program", "L", "layers", "heads", "d_model", "neurons", "parameters", "lm_head"]
    heads += ["not zero", "fewer", "compile s", "faster"]
    cells = [heads, *map(_cells, rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(heads))]
    for row in cells:
        name, *numbers = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join([name.strip().ljust(widths[0]), *numbers])


def _cells(row: Row) -> list[str]:
    mine, theirs = row.ours, row.theirs
    mark = "" if row.measured else "*"

    def pair(attribute: str, form: str = ",") -> str:
        other = "-" if theirs is None else f"{getattr(theirs, attribute):{form}}{mark}"
        return f"{getattr(mine, attribute):{form}} / {other}"

    return [
        row.name,
        str(row.length),
        *(pair(attribute) for attribute in ("layers", "heads", "d_model", "neurons")),
        pair("parameters"),
        f"+{mine.unembedding:,}",
        pair("nonzero"),
        "-" if theirs is None else f"{fewer(mine, theirs):.1f}x",
        pair("seconds", ".3f"),
        "-" if theirs is None else f"{faster(mine, theirs):.1f}x",
    ]


def fewer(mine: Figures, theirs: Figures) -> float:
    """Return how many times fewer parameters ours has."""
    return theirs.parameters / mine.parameters


def faster(mine: Figures, theirs: Figures) -> float:
    """Return how many times faster ours is compiled."""
    return theirs.seconds / mine.seconds


def means(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the geometric means over the programs with a figure on both sides."""
    for what, length, ratio in (
        ("fewer parameters", 10, fewer),
        ("fewer parameters", 40, fewer),
        ("faster compiled", 40, faster),
    ):
        pairs = [(r.ours, r.theirs) for r in rows if r.length == length]
        ratios = [ratio(mine, theirs) for mine, theirs in pairs if theirs is not None]
        mean = geometric_mean(ratios)
        yield f"{mean:.1f} times {what} at L = {length}, geometric mean of {len(ratios)} programs"


def cold(python: Path) -> str:
    """Return the line on a whole process: import, compile the smallest program, one answer.

    Both sides have their bytecode, as what pip installs has: ours is written first.
    """
    compileall.compile_dir(Path(handcraft.__file__).parent, quiet=1)
    mine = [sys.executable, "-c", COLD % str(FOLDER / "shift_by_1.rasp")]
    theirs = [str(python), "-I", str(FOLDER / "their_side.py"), "cold"]
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for command, kept in zip((mine, theirs), seconds, strict=True):
            begun = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            kept.append(time.perf_counter() - begun)
    one, other = map(median, seconds)
    what = "cold process, shift_by_1, L = 5: import, compile, one answer"
    return f"{what}: {one:.2f} s / {other:.2f} s, {other / one:.1f} times faster"


if __name__ == "__main__":
    main()
