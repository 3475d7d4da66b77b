"""Tables of selected pairs as sums of products of a query form and a key form.

Either one product for each class of keys or queries that belong together; or, where a query selects
the keys that are nearest to it, the score 2kq - k^2 = q^2 - (k - q)^2 of their numbers, which is at
least 1 less at every other key: an equality, or a window of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.compiler.forms import Form, Number, combine, constant
from handcraft.compiler.purposes import Factor, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.selection import Rows


MOST_TERMS = 2**18
"""Numbers that the queries and keys of one table may take."""


class TooManyProductsError(Exception):
    """A table has no short form as a sum of products.

    Args:
        terms: how many numbers it takes.
    """

    def __init__(self, terms: int) -> None:
        super().__init__(terms)
        self.terms = terms


@dataclass(frozen=True, slots=True)
class Product:
    """A query form times a key form.

    `outside` is what the key form must be at the start token for a score at least 1 below `top`.
    """

    query: Form
    key: Form
    outside: Number


@dataclass(frozen=True, slots=True)
class Factors:
    """A table as a score: `top` with each key that a query selects, at least 1 less with others.

    Attributes:
        products: add up to the score.
        top: a form read at the query.
        largest: a bound on all partial sums.
        error: a bound on the error of a score, in roundoffs.
        literal: what the score is for.
    """

    products: tuple[Product, ...]
    top: Form
    largest: Fraction
    error: Number
    literal: Literal


@dataclass(frozen=True, slots=True)
class Classes:
    """Numbers of keys and queries: a query selects the keys whose numbers are nearest to its own.

    Attributes:
        keys: of each key.
        queries: of each query.
        tops: the score of each query with the keys that it selects.
    """

    keys: tuple[int, ...]
    queries: tuple[int, ...]
    tops: tuple[int, ...]

    @property
    def largest(self) -> Fraction:
        """A bound on the partial sums of 2kq - k^2."""
        k, q = max(map(abs, self.keys)), max(map(abs, self.queries))
        return Fraction(2 * k * q + k * k)


def table_factors(
    queries: Sequence[Form], keys: Sequence[Form], rows: Rows, error: Number
) -> Factors:
    """Return one product for each class of a table of zeros and ones.

    Keys that the same queries select stand together, or queries that select the same keys,
    whichever are fewer.
    """
    by_query, by_key = _grouped(rows, len(keys))
    if len(by_key) <= len(by_query):
        parts = [(bits(column), members) for column, members in by_key.items()]
    else:
        parts = [(members, bits(row)) for row, members in by_query.items()]
    terms = sum(len(asking) + len(asked) for asking, asked in parts)
    if terms > MOST_TERMS:
        raise TooManyProductsError(terms)
    products = []
    factors = []
    for asking, asked in parts:
        query, key = _sum(queries, asking), _sum(keys, asked)
        if constant(0) in (query, key):  # values that are never taken
            query = key = constant(0)
        else:
            products.append(Product(query, key, Fraction(0)))
        values = (_indicator(asking, len(queries)), _indicator(asked, len(keys)))
        factors.append(Factor(query, key, *values, 0))
    literal = Literal(tuple(factors), constant(1), (1,) * len(rows), tuple(rows))
    return Factors(tuple(products), constant(1), Fraction(1), error, literal)


def rank(rows: Rows, n_keys: int) -> int:
    """Return how many products `table_factors` needs."""
    return min(map(len, _grouped(rows, n_keys)))


def distance_factors(
    query: Form, top: Form, key: Form, square: Form, classes: Classes, rows: Rows, error: Number
) -> Factors:
    """Return the score 2kq - k^2 = q^2 - (k - q)^2; `square` is k^2, `top` that of the nearest.

    The start token, whose k is 0, scores less than any top: a query midway between two keys has -1.
    """
    outside = 1 - min(0, *classes.tops)
    products = (
        Product(query.scaled(2), key, Fraction(0)),
        Product(constant(-1), square, outside),
    )
    queries = tuple(2 * q for q in classes.queries)
    squares = tuple(k * k for k in classes.keys)
    factors = (
        Factor(query.scaled(2), key, queries, classes.keys, 0),
        Factor(constant(-1), square, (-1,) * len(queries), squares, outside),
    )
    literal = Literal(factors, top, classes.tops, tuple(rows))
    return Factors(products, top, classes.largest, error, literal)


def joined(products: Sequence[Product]) -> list[Product]:
    """Return products with one for each query form (constants count as one) and key form."""
    by_query: dict[Form, tuple[Form, Number]] = {}
    for p in products:
        query: Form = p.query
        factor: Number = 1
        if not query.terms:
            query, factor = constant(1), query.constant
        key, outside = by_query.get(query, (constant(0), 0))
        by_query[query] = (key + p.key.scaled(factor), outside + factor * p.outside)
    by_key: dict[tuple[Form, Number], Form] = {}
    for query, place in by_query.items():
        by_key[place] = by_key[place] + query if place in by_key else query
    return [Product(query, key, outside) for (key, outside), query in by_key.items()]


def classes_of(rows: Rows, n_keys: int) -> Classes | None:
    """Return a table as an equality, or None where two rows share only some of their keys.

    A class has the number of its first key; so where keys and queries are numbers themselves, the
    class is mostly a shifted copy of them. Keys that no query selects have their own numbers, and
    queries that select nothing a number that no key has. All are shifted to lie around 0.
    """
    numbers = list(range(n_keys))
    seen = 0
    for row in set(rows) - {0}:
        if seen & row:
            return None
        seen |= row
        members = bits(row)
        for j in members:
            numbers[j] = members[0]
    queries = _continued([bits(row)[0] if row else None for row in rows], set(numbers))
    middle = n_keys // 2
    keys = tuple(k - middle for k in numbers)
    shifted = tuple(q - middle for q in queries)
    return Classes(keys, shifted, tuple(q * q for q in shifted))


def windows_of(rows: Rows, n_keys: int) -> Classes | None:
    """Return a table in which every query selects one key, or two neighbours, as distances.

    Key j has the number 2j. A query between two keys is as far from both; one that selects only
    the first or the last key may stand beyond it. None where a row is something else.
    """
    queries: list[int] = []
    for row in rows:
        members = bits(row)
        if not members or members[-1] - members[0] != len(members) - 1 or len(members) > 2:
            return None
        queries.append(members[0] + members[-1])
    for i, members in ((0, bits(rows[0])), (len(rows) - 1, bits(rows[-1]))):
        step = 1 if i == 0 else -1
        if len(rows) > 2 and len(members) == 1 and members[0] in (0, n_keys - 1):
            beyond = 2 * queries[i + step] - queries[i + 2 * step]
            if abs(beyond - queries[i]) == 1 and (beyond < 0 or beyond > 2 * (n_keys - 1)):
                queries[i] = beyond
    middle = n_keys - 1
    keys = tuple(2 * j - middle for j in range(n_keys))
    shifted = tuple(q - middle for q in queries)
    tops = tuple(
        q * q - (q - keys[bits(row)[0]]) ** 2 for q, row in zip(shifted, rows, strict=True)
    )
    return Classes(keys, shifted, tops)


def bits(row: int) -> list[int]:
    """Return the numbers of the bits that are set, the lowest first."""
    return [i for i in range(row.bit_length()) if row >> i & 1]


def _continued(numbers: Sequence[int | None], taken: set[int]) -> list[int]:
    """Fill the gaps: as the next known number counts on, if that is not taken, else with -1."""
    known = [(i, n) for i, n in enumerate(numbers) if n is not None]
    filled = []
    for i, number in enumerate(numbers):
        if number is None:
            place, near = min(known, key=lambda pair: abs(pair[0] - i), default=(0, 0))
            number = near + i - place
            if number in taken:
                number = -1
        filled.append(number)
    return filled


def _grouped(rows: Rows, n_keys: int) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the queries of each row and the keys of each column that is not empty."""
    by_query: dict[int, list[int]] = {}
    columns = [0] * n_keys
    for i, row in enumerate(rows):
        by_query.setdefault(row, []).append(i)
        for j in bits(row):
            columns[j] |= 1 << i
    by_key: dict[int, list[int]] = {}
    for j, column in enumerate(columns):
        by_key.setdefault(column, []).append(j)
    by_query.pop(0, None)
    by_key.pop(0, None)
    return by_query, by_key


def _indicator(members: Sequence[int], size: int) -> tuple[int, ...]:
    inside = set(members)
    return tuple(int(i in inside) for i in range(size))


def _sum(forms: Sequence[Form], members: Sequence[int]) -> Form:
    return combine((1, forms[i]) for i in members)
