"""The law: the model says what the interpreter says, at every position that has a meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_files import FILES

import handcraft
from handcraft.checking import check, same
from handcraft.language.typed import Allow, Output, Predict
from handcraft.language.values import Undefined
from handcraft.testing import ATTENTIONS, inputs, programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from handcraft.language.interpret import Answer
    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Token

FORMATS = ("float32", "float64")

REFUSED = {"not-yet", "domain-too-large", "no-meaning", "format"}
"""Why a well-typed random program may have no model."""

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def models(program: handcraft.Program) -> dict[str, Model]:
    return {dtype: handcraft.compile(program, dtype=dtype) for dtype in FORMATS}


def answers(program: handcraft.Program, text: tuple[Token, ...]) -> Iterator[tuple[int, Answer]]:
    """Yield the position, `bos` left out, and the answer wherever a model must give it."""
    meaning = program.meaning(text)
    if not meaning.in_scope:
        return
    shown = meaning.answers[program.typed.vocabulary.bos is not None :]
    read_at_the_end = not program.causal and not isinstance(program.typed.result, Output)
    for position, answer in enumerate(shown):
        if not isinstance(answer, Undefined) and (not read_at_the_end or position == len(text) - 1):
            yield position, answer


def disagreements(
    program: handcraft.Program, model: Model, texts: Sequence[tuple[Token, ...]]
) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for text, row in zip(texts, model.run_batch(texts), strict=True):
        for position, answer in answers(program, text):
            if not same(answer, row[position]):
                found.append((text, position, answer, row[position]))
    return found


@every_file
def test_every_short_input(path: Path) -> None:
    program = handcraft.parse(path)
    report = check(program, models(program), longest=5, random=0)
    assert report.holds, report
    assert report.compared > 0


@every_file
def test_long_inputs(path: Path) -> None:
    program = handcraft.parse(path)
    made = models(program)
    longer = inputs(program, min_size=program.context // 2)

    @settings(max_examples=4)
    @given(st.lists(longer, min_size=10, max_size=25))
    def agree(texts: list[tuple[Token, ...]]) -> None:
        for model in made.values():
            assert disagreements(program, model, texts) == []

    agree()


@pytest.mark.parametrize(
    "statements",
    [
        'context 8; assume tokens != shift(tokens, 1, ""); output {"a": 1}[tokens] + indices % 3;',
        'context 6; assume indices > 0 or tokens == "b"; predict tokens[0];',
        'context 7; assume count_so_far(tokens, "c") < 3; allow "a" if tokens == "c"; '
        'allow "c" if tokens != "c";',
    ],
)
def test_random_inputs_in_scope(statements: str) -> None:
    program = handcraft.parse(f'vocab "abc"; {statements}')
    report = check(program, models(program), longest=3, random=40)
    assert report.holds, report
    assert report.in_scope > 40


@pytest.mark.parametrize(
    "statements",
    [
        'one = aggregate(full_s, indicator(tokens == "a")); output one + 1;',
        "one = count(select(tokens, tokens, ==)); output 2 * one - 3;",
        'tokens = aggregate(full_s, indices); predict "a" if tokens > 1 else "b";',
        'tokens = aggregate(select(indices, indices - 1, ==), tokens, "a"); predict tokens;',
        "indices = count(select(tokens, tokens, ==)); output indices + 1;",
        "start = count(select(tokens, tokens, ==)); output start + 1;",
    ],
)
def test_a_name_of_the_program_is_not_taken_for_one_of_the_compiler(statements: str) -> None:
    program = handcraft.parse(f'vocab "abc"; context 5; {statements}')
    report = check(program, models(program), longest=4, random=20)
    assert report.holds, report


def test_float16_holds_the_law_or_is_refused() -> None:
    verdicts = {}
    for path in FILES:
        program = handcraft.parse(path)
        try:
            half = handcraft.compile(program, dtype="float16")
        except handcraft.HandcraftError as error:
            verdicts[path.stem] = error.code
        else:
            report = check(program, {"float16": half}, longest=2, random=10)
            assert report.holds, report
            verdicts[path.stem] = "holds"
    assert set(verdicts.values()) == {"holds", "format"}
    assert verdicts["induction"] == "holds"


@pytest.mark.parametrize(
    "text",
    [
        # token 1 is never said, and the other two are decided by a number
        "vocab 0..2; context 4; attention bidirectional; predict {0: 0, 1: 2, 2: 2}"
        "[aggregate(latest(not past), aggregate(latest(full_s), tokens, 1), tokens)];",
        # what is allowed depends on the token here, to whose direction other answers are written
        'vocab "ab"; bos "^"; eos "."; context 5; allow "a" if True;'
        'allow "b" if has_focus(select(0, 3, <)); allow "." if tokens != "a";',
        # the same, with answers that take several layers
        'vocab "abc"; context 4; allow "a" if True; allow "b" if tokens == "a" or indices > 0;'
        'allow "c" if ["a", tokens][indices % 2] in ["b", "c"];',
        # a head whose every column is constant
        'vocab "abc"; context 3; attention bidirectional; allow "a" if True;'
        'allow "b" if indices > 3; allow "c" if has_focus(full_s and full_s);',
        # a default of another kind that is never needed, of a mean with very many values
        'vocab 0..99; context 20; output aggregate(past, tokens, "none");',
    ],
)
def test_programs_that_once_went_wrong(text: str) -> None:
    program = handcraft.parse(text)
    made = models(program)
    report = check(program, made, longest=3, random=20)
    assert report.holds, report
    for model in made.values():
        lead = smallest_lead(program, model, a_text(program))
        assert lead >= 0.99 * model.description.margin


def test_a_model_that_is_wrong_is_caught() -> None:
    right = handcraft.parse('vocab "ab"; context 4; output tokens == "a";')
    wrong = handcraft.parse('vocab "ab"; context 4; output indicator(tokens == "a");')
    assert disagreements(right, handcraft.compile(right), [("a", "b")]) == []
    assert disagreements(right, handcraft.compile(wrong), [("a", "b")]) == [
        (("a", "b"), 0, True, 1),
        (("a", "b"), 1, False, 0),
    ]


# Random programs -----------------------------------------------------------------------------


def made_of(text: str) -> tuple[handcraft.Program, dict[str, Model]] | None:
    """Return a random program and its models; None where it is refused for a reason we know."""
    try:
        program = handcraft.parse(text)
        return program, models(program)
    except handcraft.HandcraftError as error:
        if error.code not in REFUSED:
            raise
        return None


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_random_programs(attention: str) -> None:
    refused = []

    @given(programs(attention=attention))
    def agrees(text: str) -> None:
        made = made_of(text)
        refused.append(made is None)
        if made is not None:
            report = check(*made, longest=3, random=9)
            assert report.holds, report

    agrees()
    assert sum(refused) * 10 <= len(refused)


def test_random_programs_are_of_every_kind() -> None:
    seen: set[str] = set()
    words = {
        *("output", "predict", "allow", "logits", "assume", "bos", "eos", "causal"),
        *("bidirectional", "aggregate", "sum", "selector_width", "latest", "first", "best", "max"),
        *("min", " and ", " or ", "not ", " if ", " in ", "0..2", "up"),
    }

    @settings(max_examples=300)
    @given(programs(context=5))
    def look(text: str) -> None:
        assert "context 5;" in text
        seen.update(word for word in words if word in text)

    look()
    assert seen == words


# Numbers -------------------------------------------------------------------------------------


@every_file
def test_every_activation_is_finite_and_the_right_logit_leads_by_the_margin(path: Path) -> None:
    program = handcraft.parse(path)
    text = a_text(program)
    for model in models(program).values():
        trace = model.trace(text)
        for name in trace:
            unseen = name.startswith("scores") and program.causal
            assert np.isfinite(np.tril(trace[name]) if unseen else trace[name]).all(), name
        assert smallest_lead(program, model, text) >= 0.99 * model.description.margin


@settings(max_examples=60)
@given(programs(), st.data())
def test_the_right_logit_leads_by_the_margin_in_random_programs(
    text: str, data: st.DataObject
) -> None:
    made = made_of(text)
    if made is None:
        return
    program = made[0]
    for model in made[1].values():
        drawn = data.draw(inputs(program, min_size=program.context // 2))
        assert smallest_lead(program, model, drawn) >= 0.99 * model.description.margin


def a_text(program: handcraft.Program) -> tuple[Token, ...]:
    """Return a text as long as the context, in which the tokens take turns."""
    vocabulary = program.typed.vocabulary
    tokens = [token for token in vocabulary.tokens if token != vocabulary.bos]
    room = program.context - (vocabulary.bos is not None)
    return tuple(tokens[i * i % len(tokens)] for i in range(room))


def smallest_lead(program: handcraft.Program, model: Model, text: tuple[Token, ...]) -> float:
    """Return the least distance of a right logit from a wrong one; infinity where none is read."""
    rows = model.logits(text)[program.typed.vocabulary.bos is not None :]
    leads = [np.inf]
    for position, answer in answers(program, text):
        right = right_ones(program, model, answer)
        if right.any() and not right.all():
            logits = rows[position].astype(float)
            leads.append(logits[right].min() - logits[np.logical_not(right)].max())
    return min(leads)


def right_ones(program: handcraft.Program, model: Model, answer: Answer) -> NDArray[np.bool_]:
    """Return which logits are those of the answer; none where logits are no decision."""
    wanted: tuple[object, ...] = answer if isinstance(answer, tuple) else (answer,)
    possible: Sequence[object] = ()
    match program.typed.result:
        case Predict() | Allow():
            possible = model.vocabulary.tokens
        case Output() if model.config.readout == "values":
            assert isinstance(model.description.outputs, tuple)
            possible = model.description.outputs
        case _:
            pass
    right = np.zeros(model.config.n_out, dtype=np.bool_)
    right[: len(possible)] = [any(same(w, p) for w in wanted) for p in possible]
    return right
