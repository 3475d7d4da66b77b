"""10,000 random texts at full context, half of them with one edit, `pytest -m full`."""

from __future__ import annotations

import pytest
from languages import A5, LANGUAGES, asked, automaton, program, walks
from test_pattern_models import QUESTIONS, assert_exact

import handcraft
from handcraft.patterns.tables import from_table

WALKS = 10_000

pytestmark = pytest.mark.full


@pytest.mark.parametrize("context", [32, 64])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", LANGUAGES)
def test_walks(name: str, question: str, context: int) -> None:
    language = automaton(name)
    model = handcraft.compile(program(name, question, context))
    assert_exact(model, language, question, list(walks(language, context, WALKS)))


@pytest.mark.parametrize("question", ["state", "accepts"])
def test_the_alternating_group_of_five_at_context_64(question: str) -> None:
    group = from_table(A5, tuple("ab"))
    model = handcraft.compile(f'vocab "ab"; context 64; output {question}({asked(A5)});')
    assert model.config.n_layer == 6
    assert max(layer.d_mlp for layer in model.config.layers) <= 3600
    assert_exact(model, group, question, list(walks(group, 64, WALKS)))
