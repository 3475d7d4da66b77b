"""The kinds of regular languages for which there is a cheap construction, and what it needs.

Each kind is a theorem about one `Machine`: how its answer after any text in scope can be told
without following the states one by one. Letters are the machine's: symbols that act alike share
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from handcraft.patterns.machine import Answer


@dataclass(frozen=True, slots=True)
class Case:
    """The answer after texts that end in these letters.

    Attributes:
        letters: the last letters of the text, the oldest first.
        is_whole: whether these letters are the whole text; else more may stand before them.
        answer: what is to be known there.
    """

    letters: tuple[int, ...]
    is_whole: bool
    answer: Answer


@dataclass(frozen=True, slots=True)
class Suffix:
    """Definite: the last `length` symbols decide, or the whole text where it is shorter.

    A machine is definite where every text of `length` letters leads all states, from which it stays
    in scope, to states of one answer. That is so where the graph of pairs of states that have
    different answers, now or later, has no cycle; its longest path has `length` pairs.

    Attributes:
        length: the least such number.
        cases: of every text in scope exactly one case is true.
    """

    length: int
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """Positional: the number of symbols decides, whatever they are.

    The states that texts of n symbols lead to follow from those of n - 1 symbols, so that their
    sets are periodic from some n on; each set has one answer.

    Attributes:
        preperiod: from this number of symbols on the answers are periodic.
        period: the least period.
        answers: `[n]`, the answer after n symbols, for n below preperiod + period; None where no
            text in scope is that long.
    """

    preperiod: int
    period: int
    answers: tuple[Answer | None, ...]


@dataclass(frozen=True, slots=True)
class SuffixAtPosition:
    """The number of symbols and the last `length` of them decide together.

    As `Suffix`, for pairs of states that texts of one length lead to.

    Attributes:
        length: the least number of symbols for that.
        preperiod: from this number of symbols on the cases are periodic.
        period: a period.
        cases: `[n]`, the cases of texts of n symbols, for n below preperiod + period.
    """

    length: int
    preperiod: int
    period: int
    cases: tuple[tuple[Case, ...], ...]


@dataclass(frozen=True, slots=True)
class Reset:
    """Flip-flop: the latest resetting letter decides; the others change nothing.

    Every letter acts on the states as the identity or as a constant, wherever it stays in scope.

    Attributes:
        resets: `[letter]`, the number of the value that the letter sets, or None where it holds.
        answers: `[value]`; value 0 is that of the start, before any reset.
    """

    resets: tuple[int | None, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Counter:
    """A sum of weights of letters, and how far it has to be known.

    Attributes:
        weights: `[letter]`.
        preperiod: sums below this are told apart.
        period: sums from `preperiod` on count modulo this; None where no two sums are one.
    """

    weights: tuple[int, ...]
    preperiod: int
    period: int | None

    def folded(self, total: int) -> int:
        """Return the number that stands for a sum."""
        if self.period is None or total < self.preperiod:
            return total
        return self.preperiod + (total - self.preperiod) % self.period


@dataclass(frozen=True, slots=True)
class Count:
    """The answer when the counters have these values since the reset to that value."""

    value: int
    totals: tuple[int, ...]
    answer: Answer


@dataclass(frozen=True, slots=True)
class Counting:
    """Counters since the latest resetting letter decide.

    A letter that resets acts as a constant. The others act, on what can be reached from the start
    or a reset without another reset, as commuting steps: either all that act at all act alike, so
    that their number decides; or the states can be labelled with elements of an abelian group, so
    that each letter adds its own element. The largest such group is that of the letters with a
    relation for every edge outside of a spanning tree; it is a product of cyclic groups, each of
    which is a counter.

    Attributes:
        resets: as in `Reset`; all None where counting starts with the text and never again.
        counters: what is counted.
        counts: the answer for every combination that texts in scope lead to.
    """

    resets: tuple[int | None, ...]
    counters: tuple[Counter, ...]
    counts: tuple[Count, ...]


Plain: TypeAlias = Suffix | Position | SuffixAtPosition | Reset | Counting


@dataclass(frozen=True, slots=True)
class Guarded:
    """A plain kind, up to the first exit; what holds from then on holds for good.

    States that no text leaves are taken out. Of the texts that stay in what is left `inside` gives
    an `Inside`: the answer, and which letters would exit. A text has left where there is a position
    whose letter exits after the text before it; the first such position decides where to. Where all
    exits have one answer, any position does, also one after the first where `inside` means nothing.

    Attributes:
        inside: the kind of the rest.
        exits: the answers that exits may have.
    """

    inside: Plain
    exits: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Monoid:
    """The maps of states that texts act as, with their products: the transition monoid.

    Attributes:
        elements: `[element][state]`, where the state is led to; element 0 is the identity.
        generators: `[letter]`, the element of the text of that letter alone.
        products: `[first][second]`, the element of a text of `first` and then one of `second`.
    """

    elements: tuple[tuple[int, ...], ...]
    generators: tuple[int, ...]
    products: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.elements)


@dataclass(frozen=True, slots=True)
class General:
    """Any automaton: the map of a text is the composition of its letters' maps.

    Composition is associative, so that doubling finds the maps of all prefixes of n letters in
    ceil(log2 n) steps.

    Attributes:
        maps: `[letter][state]`, where the letter leads. A machine whose texts may leave the scope
            has one more state at the end, which stands for having left.
        answers: `[state]`; None for having left.
        monoid: the transition monoid, or None where it has more elements than were asked for.
    """

    maps: tuple[tuple[int, ...], ...]
    answers: tuple[Answer | None, ...]
    monoid: Monoid | None


Kind: TypeAlias = Plain | Guarded | General
