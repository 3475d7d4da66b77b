"""How the constructions of patterns grow with the context: `python tests/benchmarks/patterns.py`.

For one pattern of each class it prints what the model takes and how long it is compiled, and that
time for automata of eight states that only composition can follow.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import handcraft
from handcraft.compiler.account import Sizes, sizes_of
from handcraft.compiler.levels import passes_of
from handcraft.compiler.placement import placement
from handcraft.language.literals import write_text

if TYPE_CHECKING:
    from handcraft.language.program import Program

CONTEXTS = (8, 16, 32, 64, 128)

MOST_SECONDS = 2.0
"""Of a compilation with eight states at context 64."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern and what is asked of it.

    Attributes:
        name: what it is called: the class of its language, or a word for it.
        vocab: the tokens, as a header has them.
        text: the pattern, or `automaton(...)`.
        question: `accepts`, `state`, or `next` for a prediction.
    """

    name: str
    vocab: str
    text: str
    question: str

    @property
    def asked(self) -> str:
        """The function that is called, as a program has it."""
        is_table = self.text.startswith("automaton(")
        return f"{self.question}({self.text if is_table else write_text(self.text)})"

    def program(self, context: int) -> Program:
        """Return the program that has the answer as its result."""
        statement = "predict" if self.question == "next" else "output"
        header = f"vocab {self.vocab}; context {context};"
        return handcraft.parse(f"{header}\n{statement} {self.asked};")


@dataclass(frozen=True, slots=True)
class Built:
    """What a pattern takes at one context, and by which construction."""

    sizes: Sizes
    construction: str


CLASSES = (
    Pattern("suffix", '"ab"', "(a|b)*abb", "accepts"),
    Pattern("position", '"ab"', "((a|b){3})*", "accepts"),
    Pattern("reset", '"01_"', "(0|1|_)*1_*", "accepts"),
    Pattern("counting", '"ab"', "b*((ab*){5})*", "state"),
    Pattern("counting since a reset", '"ab;"', "((a|b|;)*;)?b*(ab*ab*)*", "accepts"),
    Pattern("general", '"01"', "(0|1(01*0)*1)*", "accepts"),
)


def built(pattern: Pattern, context: int) -> Built:
    """Return what the model of a pattern takes, without making it."""
    stages = placement(pattern.program(context).typed, passes_of(1))
    (words,) = stages.constructions
    return Built(sizes_of(stages), words.rsplit(": ", 1)[1])


def seconds(pattern: Pattern, context: int) -> float:
    """Compile a pattern from its text, and return how long it takes."""
    begun = time.perf_counter()
    handcraft.compile(pattern.program(context))
    return time.perf_counter() - begun


def eight_states() -> tuple[Pattern, ...]:
    """Return automata that make all permutations of eight states, and all maps of them."""
    turn = [(state + 1) % 8 for state in range(8)]
    swap = [1, 0, *range(2, 8)]
    join = [0, 0, *range(2, 8)]
    return (
        Pattern("all permutations of 8 states", '"ab"', _table({"a": turn, "b": swap}), "state"),
        Pattern(
            "all maps of 8 states", '"abc"', _table({"a": turn, "b": swap, "c": join}), "state"
        ),
    )


def main() -> None:
    """Print the tables."""
    seconds(CLASSES[0], CONTEXTS[0])
    print(f"{'class':<24}{'context':>8}{'layers':>8}{'d_model':>9}{'parameters':>12}{'seconds':>9}")
    for pattern in CLASSES:
        for context in CONTEXTS:
            sizes = built(pattern, context).sizes
            numbers = f"{sizes.layers:>8}{sizes.d_model:>9}{sizes.parameters:>12,}"
            print(f"{pattern.name:<24}{context:>8}{numbers}{seconds(pattern, context):>9.2f}")
    print()
    for pattern in eight_states():
        taken = seconds(pattern, 64)
        verdict = "" if taken < MOST_SECONDS else f", over {MOST_SECONDS:.0f} s"
        print(f"{pattern.name}, context 64: {taken:.2f} s{verdict}")


def _table(moves: dict[str, list[int]]) -> str:
    rows = {
        str(state): {symbol: str(targets[state]) for symbol, targets in moves.items()}
        for state in range(8)
    }
    return f"automaton({json.dumps({'start': '0', 'accept': ['0'], **rows})})"


if __name__ == "__main__":
    main()
