"""What changes no answer: the future, the order of sums, saving, compiling once more."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import program_files
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_files import FILES

import handcraft
from handcraft.runtime.transformer import forward
from handcraft.runtime.weights import Weights
from handcraft.testing import inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from handcraft.runtime.config import Config
    from handcraft.runtime.trace import Trace
    from handcraft.runtime.vocabulary import Token
    from handcraft.runtime.weights import Array

TESTS = Path(__file__).parents[1]
GALLERY = [path for path in FILES if path.parent == program_files.GALLERY]
CAUSAL = [path for path in FILES if "attention bidirectional" not in path.read_text()]
FORMATS = ("float32", "float64")

DIGESTS = """
import hashlib, pathlib, sys
import handcraft
folder = pathlib.Path(sys.argv[1])
for path in sys.argv[2:]:
    handcraft.compile(path).save(folder / "again.npz")
    print(hashlib.sha256((folder / "again.npz").read_bytes()).hexdigest())
"""


# The future ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CAUSAL, ids=lambda path: path.stem)
def test_a_later_token_changes_nothing_before_it(path: Path) -> None:
    program = handcraft.parse(path)
    model = handcraft.compile(program)
    others = inputs(program, max_size=1)
    hidden = program.typed.vocabulary.bos is not None

    @settings(max_examples=8)
    @given(inputs(program, min_size=3), others, st.data())
    def unchanged(text: tuple[str, ...], other: tuple[str, ...], data: st.DataObject) -> None:
        place = data.draw(st.integers(1, len(text) - 1))
        changed = (*text[:place], *other, *text[place + 1 :])
        before, after = model.logits(text), model.logits(changed)
        assert np.array_equal(before[: place + hidden], after[: place + hidden])
        assert model.run(text)[:place] == model.run(changed)[:place]

    unchanged()


def test_a_bidirectional_program_does_see_what_comes_later() -> None:
    model = handcraft.compile(TESTS.parent / "programs" / "reverse.rasp")
    assert model.run("abc")[0] != model.run("abe")[0]


# The order of sums ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_order_of_sums_changes_no_score_among_equals(path: Path, dtype: str) -> None:
    program = handcraft.parse(path)
    model = handcraft.compile(program, dtype=dtype)
    ids = model.encode(a_text(program))
    turned = forward(permuted(model.parameters, seed=11), ids)
    given_ = forward(model.parameters, ids)
    for (before, pattern), (after, _) in zip(scores(given_), scores(turned), strict=True):
        equal = before[:, :, :, None] == before[:, :, None, :]
        still = after[:, :, :, None] == after[:, :, None, :]
        chosen = pattern > 0
        among = chosen[:, :, :, None] & chosen[:, :, None, :]
        assert (still | ~(equal & among)).all()
        assert np.isfinite(before[chosen]).all()


def scores(trace: Trace) -> Iterator[tuple[Array, Array]]:
    """Yield scores and pattern, both `[n_head, n_seq, n_seq]`, of each layer with heads."""
    for layer in trace.layers:
        if layer.attention is not None:
            yield layer.attention.scores, layer.attention.pattern


def permuted(weights: Weights, *, seed: int) -> Weights:
    """Return the same function, columns of the stream and of every head in another order."""
    config, chance = weights.config, np.random.default_rng(seed)
    stream = chance.permutation(config.d_model)
    arrays = {name: np.array(array) for name, array in weights.arrays.items()}
    for name, array in arrays.items():
        if name.endswith(("c_attn.weight", "c_fc.weight")):
            arrays[name] = array[stream]
        elif not name.endswith(("c_attn.bias", "c_fc.bias")):
            arrays[name] = array[..., stream]
    for number in range(config.n_layer):
        _turn_heads(arrays, config, number, chance)
    return Weights(config, arrays)


def _turn_heads(
    arrays: dict[str, Array], config: Config, number: int, chance: np.random.Generator
) -> None:
    layer = config.layers[number]
    name = f"h.{number}.attn.c_attn"
    if not layer.n_head:
        return
    inner = layer.n_head * layer.d_head
    order: NDArray[np.int64] = np.arange(3 * inner)
    for head in range(layer.n_head):
        first = head * layer.d_head
        turned = first + chance.permutation(layer.d_head)
        order[first : first + layer.d_head] = turned
        order[inner + first : inner + first + layer.d_head] = inner + turned
    arrays[f"{name}.weight"] = arrays[f"{name}.weight"][:, order]
    arrays[f"{name}.bias"] = arrays[f"{name}.bias"][order]


# Saving, and compiling again -----------------------------------------------------------------


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_model_that_was_saved_and_loaded_gives_the_same_bits(path: Path, tmp_path: Path) -> None:
    program = handcraft.parse(path)
    model = handcraft.compile(program)
    model.save(tmp_path / "model.npz")
    loaded = handcraft.load(tmp_path / "model.npz")
    text = a_text(program)
    assert loaded.logits(text).tobytes() == model.logits(text).tobytes()
    assert loaded.run(text) == model.run(text)


def test_compiling_twice_gives_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    digests = []
    for path in GALLERY:
        saved = [tmp_path / "one.npz", tmp_path / "two.npz"]
        for file in saved:
            handcraft.compile(path).save(file)
        assert saved[0].read_bytes() == saved[1].read_bytes()
        digests.append(hashlib.sha256(saved[0].read_bytes()).hexdigest())
    found = subprocess.run(
        [sys.executable, "-c", DIGESTS, str(tmp_path), *map(str, GALLERY)],
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == digests
    assert len(set(digests)) == len(GALLERY)


def a_text(program: handcraft.Program) -> tuple[Token, ...]:
    """Return a text as long as the context, in which the tokens take turns."""
    vocabulary = program.typed.vocabulary
    tokens = [token for token in vocabulary.tokens if token != vocabulary.bos]
    room = program.context - (vocabulary.bos is not None)
    return tuple(tokens[i * i % len(tokens)] for i in range(room))
