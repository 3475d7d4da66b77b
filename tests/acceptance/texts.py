"""Random inputs of one length for each program: plain, mutated examples, and texts that mean much.

Of some languages a random text says nothing: hardly any is balanced, holds one bar or adds two
numbers. Their programs have a writer here, and half of their inputs come from it.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    import handcraft
    from handcraft.runtime.vocabulary import Token

Input: TypeAlias = tuple["Token", ...]
Writer: TypeAlias = "Callable[[Random, int], str]"
"""Writes a text of that many characters."""

FEW = 3
"""Tokens of a text in which most tokens occur again."""


def inputs(name: str, program: handcraft.Program, length: int, chance: Random) -> Iterator[Input]:
    """Yield random inputs of a program, `bos` left out, without end.

    Args:
        name: the program's file, without its ending.
        program: the program; its examples are mutated.
        length: tokens of each input.
        chance: where they come from.
    """
    vocabulary = program.typed.vocabulary
    tokens = [token for token in vocabulary.tokens if token != vocabulary.bos]
    examples = [example.input for example in program.examples]
    examples = [e if vocabulary.bos is None else e[1:] for e in examples]
    examples = [e for e in examples if e]
    ways: list[Callable[[], Input]] = [
        lambda: tuple(chance.choices(tokens, k=length)),
        lambda: tuple(chance.choices(chance.choices(tokens, k=FEW), k=length)),
        lambda: _mutated(chance.choice(examples), tokens, length, chance),
    ]
    writer = WRITERS.get(name)
    if writer is not None:
        ways += [lambda: tuple(writer(chance, length)), lambda: tuple(writer(chance, length))]
        ways += [lambda: _mutated(tuple(writer(chance, length)), tokens, length, chance)]
    while True:
        yield chance.choice(ways)()


def _mutated(text: Input, tokens: Sequence[Token], length: int, chance: Random) -> Input:
    """Return a text repeated or cut to a length, with a few tokens replaced."""
    made = list(islice(cycle(text), length))
    for _ in range(chance.randint(0, 3)):
        made[chance.randrange(length)] = chance.choice(tokens)
    return tuple(made)


# Brackets ------------------------------------------------------------------------------------


def _nested(*pairs: str) -> Writer:
    """Return a writer of texts that nest properly; one bracket stays open where one must."""

    def write(chance: Random, length: int) -> str:
        text, open_ = "", ""
        while len(text) + len(open_) < length:
            if open_ and chance.random() < 0.5:
                text, open_ = text + open_[-1], open_[:-1]
            else:
                pair = chance.choice(pairs)
                text, open_ = text + pair[0], open_ + pair[1]
        return (text + open_[::-1])[:length]

    return write


def _shuffled(*pairs: str) -> Writer:
    """Return a writer of shuffles of texts that nest properly, each of one pair."""

    def write(chance: Random, length: int) -> str:
        parts = [0] * len(pairs)
        for _ in range(length):
            parts[chance.randrange(len(pairs))] += 1
        waiting = [_nested(p)(chance, n) for p, n in zip(pairs, parts, strict=True)]
        text = ""
        while any(waiting):
            turn = chance.choice([n for n, rest in enumerate(waiting) if rest])
            text, waiting[turn] = text + waiting[turn][0], waiting[turn][1:]
        return text

    return write


# Numbers -------------------------------------------------------------------------------------


def _digits(chance: Random, length: int) -> str:
    """Return digits in which carries have a long way to go."""
    return "".join(chance.choices("0123456789", [3, 1, 1, 1, 1, 1, 1, 1, 1, 9], k=length))


def _sum(chance: Random, length: int) -> str:
    """Return `A+B`, of which B has at most as many digits as A."""
    lower = chance.randint(1, (length - 1) // 2)
    return f"{_digits(chance, length - 1 - lower)}+{_digits(chance, lower)}"


def _sum_and_answer(step: int) -> Writer:
    """Return a writer of `A+B=` with the first digits of the answer, read with that step."""

    def write(chance: Random, length: int) -> str:
        widths = [w for w in range(1, length) if 2 * w + 2 <= length <= 3 * w + 3]
        width = chance.choice(widths)
        one, other = _digits(chance, width), _digits(chance, width)
        answer = str(int(one[::step]) + int(other[::step])).zfill(width)[-width:][::step]
        return f"{one}+{other}={answer}{_digits(chance, width)}"[:length]

    return write


def _small_sums(chance: Random, length: int) -> str:
    """Return additions of two digits, one after the other, so that the last one is whole."""
    pieces = [f"{_digits(chance, 1)}+{_digits(chance, 1)}=" for _ in range(length // 4 + 1)]
    return "".join(pieces)[-length:]


def _digits_then_equals(chance: Random, length: int) -> str:
    place = chance.choice([length - 1, chance.randrange(length)])
    return f"{_digits(chance, place)}={_digits(chance, length - 1 - place)}"


# Words ---------------------------------------------------------------------------------------


def _word(chance: Random, letters: str, length: int) -> str:
    return "".join(chance.choices(chance.choices(letters, k=chance.randint(1, 7)), k=length))


def _after_bar(answer: Callable[[str], str], letters: str = "abcehlo") -> Writer:
    """Return a writer of a word, a bar, and the beginning of what is to be written after it."""

    def write(chance: Random, length: int) -> str:
        word = _word(chance, letters, chance.randint((length - 2) // 2, length - 1))
        return f"{word}|{answer(word)}.{_word(chance, letters, length)}"[:length]

    return write


def _palindrome(chance: Random, length: int) -> str:
    half = _word(chance, "abelv", (length + 1) // 2)
    return half + half[: length // 2][::-1]


def _palindrome_and_question(chance: Random, length: int) -> str:
    word = _palindrome(chance, max(1, length - chance.randint(1, length)))
    return f"{word}?{'T' * length}"[:length]


def _repeats(letters: str) -> Writer:
    """Return a writer of texts in which a word comes again and again."""

    def write(chance: Random, length: int) -> str:
        word = _word(chance, letters, chance.randint(2, max(2, length // 2)))
        return "".join(islice(cycle(word), length))

    return write


def _pairs(chance: Random, length: int) -> str:
    """Return pairs of key and digit, a question mark, and a key."""
    pairs = [chance.choice("abc") + chance.choice("0123") for _ in range(length)]
    return f"{''.join(pairs)}?"[-(length - 1) :] + chance.choice("abc")


def _with_blanks(letters: str, blank: str) -> Writer:
    """Return a writer of texts with runs of a blank."""

    def write(chance: Random, length: int) -> str:
        return "".join(
            chance.choice((blank * chance.randint(1, 5), _word(chance, letters, 2)))
            for _ in range(length)
        )[:length]

    return write


def _padded(chance: Random, length: int) -> str:
    """Return a word with blanks at its end."""
    return _word(chance, "axyz", chance.randint(0, length)).ljust(length, "_")


def _one_plus(chance: Random, length: int) -> str:
    place = chance.randrange(length)
    return f"{_digits(chance, place)}+{_digits(chance, length - 1 - place)}"


WRITERS: dict[str, Writer] = {
    "aab": lambda _, length: ("aab" * length)[:length],
    "aab_next": lambda _, length: ("aab" * length)[:length],
    "add_digits_mod10": _small_sums,
    "add_lsb_first": _sum_and_answer(-1),
    "add_msb_first": _sum_and_answer(1),
    "addition": _sum,
    "balanced": _nested("()"),
    "carry_forward": _with_blanks("ab", "_"),
    "copy_after_bar": _after_bar(lambda word: word),
    "dyck1_depth": _nested("()"),
    "dyck1_ptf": _nested("()"),
    "dyck2_ptf": _nested("()", "{}"),
    "dyck3_ptf": _nested("()", "{}", "[]"),
    "echo": _after_bar(lambda word: word),
    "induction": _repeats("abcehlo"),
    "max_after_equals": _digits_then_equals,
    "pair_balance": _nested("()", "ab", "ca"),
    "palindrome": _palindrome,
    "palindrome_after_question": _palindrome_and_question,
    "previous_same_index": _repeats("abehlo"),
    "recall": _pairs,
    "reverse_after_bar": _after_bar(lambda word: word[::-1]),
    "right_align": _padded,
    "shuffle_dyck2_ptf": _shuffled("()", "{}"),
    "shuffle_dyck2_verdict": _shuffled("()", "{}"),
    "slide_right_value": _with_blanks("abhlx", "<"),
    "sort_after_bar": _after_bar(lambda word: "".join(sorted(word))),
    "split_after_plus": _one_plus,
    "split_before_plus_right_aligned": _one_plus,
    "unique_after_bar": _after_bar(lambda word: "".join(dict.fromkeys(word))),
}
"""By the program's name, a writer of texts that it is about."""
