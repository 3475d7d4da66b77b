"""What `programs/patterns.md` shows: `python tests/benchmarks/gallery.py` writes it anew.

The words of the page are written by hand; the script replaces its tables, and draws its figures. It
needs no library that the tests do not need, and writes the same bytes everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import automaton_drawing
import growth_drawing
from growth_drawing import Panel, linear, logarithmic
from patterns import CLASSES, CONTEXTS, Pattern, built

import handcraft
from handcraft.patterns.build import automaton_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from handcraft.runtime.vocabulary import Token

PROGRAMS = Path(__file__).parents[2] / "programs"
PAGE = PROGRAMS / "patterns.md"
FIGURES = PROGRAMS / "figures"

CONTEXT = 16
LONGEST = 12
"""Tokens of the continuation that is shown."""

WORDS = '["the", "big", "cat", "dog", "sleeps", "."]'
ENTRIES = (
    Pattern("aab", '"ab"', "(aab)*", "next"),
    Pattern("abb", '"ab"', "(a|b)*abb", "next"),
    Pattern("no_bb", '"ab"', "~((a|b)*bb(a|b)*)", "next"),
    Pattern("threes", '"ab"', "((a|b){3})*", "next"),
    Pattern("even", '"ab"', "b*(ab*ab*)*", "next"),
    Pattern("flip_flop", '"01_"', "(0|1|_)*1_*", "next"),
    Pattern("lines", '"ab;"', "((a|b|;)*;)?b*(ab*ab*)*", "next"),
    Pattern("sentences", WORDS, r"(the big* (cat|dog) sleeps \.)*", "next"),
    Pattern("address", '"abcd@."', r"[a-d]+@[a-d]+(\.[a-d]+)+", "next"),
    Pattern("multiples_of_three", '"01"', "(0|1(01*0)*1)*", "next"),
)

COLUMNS = "| Pattern | Decided by | Layers | Heads | Neurons | d_model | Parameters |"
NEXT = f"{COLUMNS} Goes on |"
ACCEPTS = f"{COLUMNS} Words |"
GROWTH = f"| Class | Pattern | {' | '.join(f'n = {context}' for context in CONTEXTS)} |"


def main() -> None:
    """Write the page's tables and figures."""
    page = updated(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")
    FIGURES.mkdir(exist_ok=True)
    for entry in ENTRIES:
        figure_file(entry.name).write_text(automaton_figure(entry), encoding="utf-8")
    figure_file("growth").write_text(growth_figure(page), encoding="utf-8")


def figure_file(name: str) -> Path:
    """Return the file of a figure."""
    return FIGURES / f"{name}.svg"


def updated(page: str) -> str:
    """Return the page with its tables as they are today."""
    page = _with_table(page, NEXT, map(next_row, ENTRIES))
    page = _with_table(page, ACCEPTS, map(accepts_row, ENTRIES))
    return _with_table(page, GROWTH, map(growth_row, CLASSES))


def next_row(entry: Pattern) -> str:
    """Return the row of a pattern whose next token is predicted, with a continuation."""
    model = handcraft.compile(entry.program(CONTEXT))
    guide = model.description.guide
    assert guide is not None
    first = str(guide.following(0)[0])
    written = model.complete(first, LONGEST, temperature=1, seed=0)
    return _row(*_costs(entry), f"`{first} :: {written}`")


def accepts_row(entry: Pattern) -> str:
    """Return the row of a pattern whose words are told from other texts, with the shortest ones."""
    asked = Pattern(entry.name, entry.vocab, entry.text, "accepts")
    return _row(*_costs(asked), " ".join(f"`{word}`" for word in shortest_words(entry)))


def growth_row(pattern: Pattern) -> str:
    """Return the row of a class: layers, d_model and parameters at every context."""
    sizes = (built(pattern, context).sizes for context in CONTEXTS)
    cells = (f"{each.layers} / {each.d_model} / {each.parameters:,}" for each in sizes)
    return _row(pattern.name, _code(pattern.asked), *cells)


def automaton_figure(entry: Pattern) -> str:
    """Return the picture of a pattern's automaton."""
    vocabulary = entry.program(CONTEXT).typed.vocabulary
    return automaton_drawing.drawn(automaton_of(entry.text, vocabulary), entry.text)


def growth_figure(page: str) -> str:
    """Return the picture of what the page says of growth."""
    lines = {row[0]: [_numbers(cell) for cell in row[2:]] for row in _cells(page, GROWTH)}
    layers, widths, parameters = (
        {name: [cell[part] for cell in cells] for name, cells in lines.items()} for part in range(3)
    )
    panels = (
        Panel("layers", linear(*range(9)), layers),
        Panel("d_model", logarithmic(4, 8, 16, 32, 64, 128, 256, 512), widths),
        Panel("parameters", logarithmic(*(10**power for power in range(1, 7))), parameters),
    )
    title = "layers, d_model and parameters of six patterns against the context"
    return growth_drawing.drawn(CONTEXTS, panels, title)


def shortest_words(entry: Pattern, most: int = 3) -> tuple[str, ...]:
    """Return the first words of a pattern that have a symbol, the shortest first."""
    vocabulary = entry.program(CONTEXT).typed.vocabulary
    automaton = automaton_of(entry.text, vocabulary)
    found: list[str] = []
    texts: list[tuple[tuple[Token, ...], int]] = [((), automaton.start)]
    for text, state in texts:
        if text and state in automaton.accepting:
            found.append(vocabulary.join(text))
        if len(found) == most:
            break
        steps = zip(automaton.symbols, automaton.transitions[state], strict=True)
        texts += [((*text, symbol), to) for symbol, to in steps if to in automaton.live]
    return tuple(found)


def _costs(pattern: Pattern) -> Iterator[str]:
    made = built(pattern, CONTEXT)
    sizes = made.sizes
    yield _code(pattern.text)
    yield made.construction
    numbers = (sizes.layers, sizes.heads, sizes.neurons, sizes.d_model, sizes.parameters)
    yield from (f"{number:,}" for number in numbers)


def _code(text: str) -> str:
    """Return a pattern as a cell has it, where a bar would end the cell."""
    return f"`{text}`".replace("|", r"\|")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _with_table(page: str, header: str, rows: Iterable[str]) -> str:
    front, table, back = _parts(page, header)
    return "\n".join((front, *table[:2], *rows, back))


def _cells(page: str, header: str) -> list[list[str]]:
    """Return the cells of a table, none of which has a bar but the second."""
    _, table, _ = _parts(page, header)
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table[2:]]


def _parts(page: str, header: str) -> tuple[str, list[str], str]:
    """Return what stands before a table, its lines, and what stands after it."""
    lines = page.split("\n")
    first = lines.index(header)
    last = next(n for n in range(first, len(lines)) if not lines[n].startswith("|"))
    return "\n".join(lines[:first]), lines[first:last], "\n".join(lines[last:])


def _numbers(cell: str) -> tuple[int, ...]:
    return tuple(int(number.replace(",", "")) for number in cell.split(" / "))


if __name__ == "__main__":
    main()
