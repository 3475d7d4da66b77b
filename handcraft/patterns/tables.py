"""An automaton given by its table: `{"start": "p", "accept": ["q"], "p": {"a": "q"}, "q": {}}`.

The states keep the names that the table gives them. A symbol that a state says nothing about leads
to the state `"dead"`, from which nothing leads away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Rational
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from handcraft.errors import ProgramError, Span
from handcraft.patterns.automaton import Automaton, Name, numbered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from handcraft.runtime.vocabulary import Token

Table: TypeAlias = Mapping[Any, object]

DEAD = "dead"
"""The state that is added where transitions are missing."""

MOST_STATES = 2_000
"""States of a table."""

_START, _ACCEPT = "start", "accept"
_FORM = 'write `{"start": "p", "accept": ["q"], "p": {"a": "q"}, "q": {"a": "p"}}`'
_MOST_LISTED = 20


def from_table(table: Table, symbols: Sequence[Token], span: Span | None = None) -> Automaton:
    """Return the automaton of a table, its states named as there; it need not be minimal.

    Args:
        table: `start` has a state, `accept` a list of states (empty where only `state` is asked
            for); every other key is a state, and has for each symbol the state that it leads to.
            States are strings or integers.
        symbols: the tokens that texts consist of.
        span: where errors are placed.

    Raises:
        ProgramError: `bad-automaton` where the table is none, `unknown-symbol`.
    """
    states = _states(table, span)
    start = _known(table[_START], states, "`start`", span)
    accepting = tuple(_known(item, states, "`accept`", span) for item in _accepted(table, span))
    places = {str(symbol): place for place, symbol in enumerate(symbols)}
    rows = [_row(name, moves, states, places, span) for name, moves in states.items()]
    names = list(states)
    missing = next(
        ((name, row) for name, row in zip(names, rows, strict=True) if None in row), None
    )
    if missing is not None:
        name, row = missing
        if DEAD in states:
            message = (
                f"the state {_shown(name)} does not say where `{symbols[row.index(None)]}` leads"
            )
            help_ = f"such a symbol leads to `{DEAD}`, which is a state of this table: write it out"
            raise ProgramError("bad-automaton", message, span, help=help_)
        names.append(DEAD)
        rows.append([None] * len(symbols))
    dead = len(names) - 1
    return numbered(
        tuple(symbols),
        names.index(start),
        frozenset(names.index(name) for name in accepting),
        tuple(tuple(dead if target is None else target for target in row) for row in rows),
        tuple(names),
    )


def symbols_of_table(table: Table, span: Span | None = None) -> tuple[Token, ...]:
    """Return the symbols that a table names, in order of appearance.

    Raises:
        ProgramError: `bad-automaton`.
    """
    found: dict[Token, None] = {}
    for moves in _states(table, span).values():
        for key in moves:
            symbol = _name(key)
            if symbol is None:
                _refuse(f"{_shown(key)} is no symbol: text and whole numbers are", span)
            found[symbol] = None
    if not found:
        _refuse("the table names no symbol", span)
    return tuple(found)


def _states(table: Table, span: Span | None) -> dict[Name, Table]:
    """Return the rows of a table by their states."""
    if not isinstance(table, Mapping):
        _refuse(f"an automaton is a dict, found {_shown(table)}", span)
    for word in (_START, _ACCEPT):
        if word not in table:
            _refuse(f"the table has no `{word}`", span)
    states: dict[Name, Table] = {}
    for key, moves in table.items():
        if key in (_START, _ACCEPT):
            continue
        name = _name(key)
        if name is None:
            _refuse(f"{_shown(key)} is no state: text and whole numbers are", span)
        if not isinstance(moves, Mapping):
            _refuse(f"the state {_shown(name)} has no dict of symbols and states", span)
        states[name] = moves
    if len(states) > MOST_STATES:
        message = f"the table has {len(states)} states, and at most {MOST_STATES} are read"
        raise ProgramError("bad-automaton", message, span)
    return states


def _accepted(table: Table, span: Span | None) -> Sequence[object]:
    accepted = table[_ACCEPT]
    if isinstance(accepted, str) or not isinstance(accepted, Sequence):
        _refuse(f"`accept` is a list of states, found {_shown(accepted)}", span)
    return accepted


def _known(item: object, states: Iterable[Name], place: str, span: Span | None) -> Name:
    """Return the state that a value of the table stands for."""
    name = _name(item)
    known = tuple(states)
    if name is not None and name in known:
        return name
    by_text = {str(state): state for state in known}
    close = get_close_matches(str(item), by_text, n=1)
    listed = " ".join(map(_shown, known[:_MOST_LISTED]))
    more = " ..." if len(known) > _MOST_LISTED else ""
    if close:
        help_ = f"write {_shown(by_text[close[0]])}"
    else:
        help_ = f"the states are {listed}{more}" if known else _FORM
    message = f"{place} names the state {_shown(item)}, which the table does not have"
    raise ProgramError("bad-automaton", message, span, help=help_)


def _row(
    state: Name,
    moves: Table,
    states: Mapping[Name, Table],
    places: Mapping[str, int],
    span: Span | None,
) -> list[int | None]:
    """Return where each symbol leads from a state, by number; None where the table is silent."""
    numbers = {name: number for number, name in enumerate(states)}
    row: list[int | None] = [None] * len(places)
    for symbol, target in moves.items():
        token = _name(symbol)
        if token is None or str(token) not in places:
            message = f"the state {_shown(state)} names the symbol {_shown(symbol)}"
            listed = " ".join(f"`{text}`" for text in tuple(places)[:_MOST_LISTED])
            more = " ..." if len(places) > _MOST_LISTED else ""
            close = get_close_matches(str(symbol), places, n=1)
            help_ = f"write `{close[0]}`" if close else f"the symbols are {listed}{more}"
            raise ProgramError(
                "unknown-symbol", f"{message}, which is not in the vocabulary", span, help=help_
            )
        place = f"`{token}` of the state {_shown(state)}"
        if row[places[str(token)]] is not None:
            _refuse(f"{place} is there twice", span)
        if target == DEAD and DEAD not in states:
            continue
        row[places[str(token)]] = numbers[_known(target, states, place, span)]
    return row


def _name(item: object) -> Name | None:
    """Return a state or symbol as text or an integer; None where it is neither."""
    if isinstance(item, bool):
        return None
    if isinstance(item, str):
        return item
    if isinstance(item, Rational) and item.denominator == 1:
        return int(item.numerator)
    return None


def _shown(item: object) -> str:
    return f'`"{item}"`' if isinstance(item, str) else f"`{item}`"


def _refuse(message: str, span: Span | None) -> NoReturn:
    raise ProgramError("bad-automaton", message, span, help=_FORM)
