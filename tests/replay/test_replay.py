"""The published encoder-decoder: its numbers, and why six of its encoders came to NaN."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from blow_up import (
    HELLO_WORLD,
    N_ENCODERS,
    Block,
    Kind,
    depths,
    drawn_blocks,
    measured,
    naive_softmax,
    outcome,
)
from published import Entry, entries, published
from random_models import random_encoder
from random_transformer import DEEP_SEEDS, KINDS, SEEDS, report, story, verified

from handcraft.errors import HandcraftError
from handcraft.runtime.transformer import forward, softmax
from handcraft.runtime.weights import Weights, shapes

PAGE = Path(__file__).parents[2] / "programs" / "README.md"

STATED: dict[str, Any] = {entry["name"]: entry for entry in published()["numbers"]}
ENTRIES = entries()
BLOW_UP: dict[str, Any] = published()["blow_up"]

NAMES = (
    "naive softmax, no residual, no LN (the failing post version)",
    "stable softmax, no residual, no LN",
    "naive softmax, residual only",
    "naive softmax, LN only",
    "naive softmax, residual + LN (the post's cure)",
    "stable softmax, residual + LN",
)
"""The names in the data of `KINDS`, in the same order."""


def of_status(status: str) -> list[Entry]:
    return [entry for entry in ENTRIES if entry.status == status]


@pytest.mark.parametrize("entry", of_status("verified"), ids=lambda entry: entry.name)
def test_a_verified_number_comes_out_to_the_digits_stated(entry: Entry) -> None:
    assert entry.ours is not None
    assert np.shape(entry.ours) == np.shape(entry.stated)
    assert entry.agrees


def test_all_verified_numbers_are_computed(capsys: pytest.CaptureFixture[str]) -> None:
    expected = published()["status_counts"]["verified"]
    assert verified(ENTRIES).startswith(f"{expected} of {expected} verified entries agree")
    with capsys.disabled():
        sys.stdout.write(f"\n{verified(ENTRIES)}\n")


@pytest.mark.parametrize("entry", of_status("differs"), ids=lambda entry: entry.name)
def test_a_differing_number_is_shown_with_ours_and_the_reason(entry: Entry) -> None:
    assert entry.ours is not None
    expected = np.array(STATED[entry.name]["recomputed"])
    np.testing.assert_allclose(entry.ours, expected, rtol=1e-7, atol=0)
    assert not np.allclose(entry.ours, entry.stated, rtol=1e-2, atol=0)
    assert f"  {entry.name}\n" in report()
    assert str(entry.note) in report()


def test_a_wrong_digit_would_be_found() -> None:
    entry = next(e for e in of_status("verified") if e.name == "K1")
    assert not replace(entry, stated=[[4, 8, 4], [6.84, 9.98, 6.84]]).agrees
    changed = [replace(e, stated=0) if e.name == "Q1" else e for e in ENTRIES]
    assert verified(changed).startswith("36 of 37")


# Six encoders --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def six() -> list[Block]:
    return list(islice(drawn_blocks(SEEDS), N_ENCODERS))


@pytest.mark.parametrize(("kind", "name"), list(zip(KINDS, NAMES, strict=True)), ids=NAMES)
def test_what_becomes_of_six_encoders(kind: Kind, name: str, six: list[Block]) -> None:
    found, expected = outcome(kind, six), BLOW_UP[name]
    assert expected["seeds"] == SEEDS
    assert found.failed == expected["runs_with_nan"]
    assert found.first == {int(n): c for n, c in expected["first_nan_in_block"].items()}
    for number, key in (
        (found.out, "finite_runs_median_max_abs"),
        (found.gap, "finite_runs_median_gap_between_two_rows"),
    ):
        if expected[key] is None:
            assert np.isnan(number)
        else:
            assert number == pytest.approx(expected[key], rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "name"), [(KINDS[1], "same_seed_stable_softmax"), (KINDS[5], "same_seed_residual_ln")]
)
def test_one_stack_block_by_block(kind: Kind, name: str) -> None:
    blocks = list(islice(drawn_blocks(1), N_ENCODERS))
    expected = BLOW_UP["first_failing_seed"][name]["per_block"]
    for seen, block in zip(measured(kind, blocks), expected, strict=True):
        assert seen.score[0] == pytest.approx(block["max_score"], rel=1e-9)
        assert seen.out[0] == pytest.approx(block["max_out"], rel=1e-9)
        assert seen.gap[0] == pytest.approx(block["row_gap"], rel=1e-6, abs=1e-11)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_stable_softmax_only_delays_the_overflow(dtype: str) -> None:
    found = depths(dtype, DEEP_SEEDS)
    smaller = BLOW_UP["stable_softmax_depth_in_smaller_formats"]
    expected = smaller.get(dtype, BLOW_UP["stable_softmax_depth_until_overflow_50_seeds"])
    assert (median(found), min(found), max(found)) == (
        expected["median"],
        expected["minimum"],
        expected["maximum"],
    )


def test_the_naive_softmax_fails_where_that_of_the_runtime_does_not() -> None:
    rows = np.array([[710.0, 0], [-746, -750], [709, 0]])
    with np.errstate(all="ignore"):
        naive = naive_softmax(rows)
    assert np.isnan(naive).tolist() == [[True, False], [True, True], [False, False]]
    np.testing.assert_allclose(softmax(rows)[[0, 2]], [[1, 0], [1, 0]], atol=1e-300)
    assert softmax(rows)[1].tolist() == softmax(np.array([4.0, 0])).tolist()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_runtime_itself_says_what_the_cured_stack_says(seed: int) -> None:
    weights = random_encoder(seed, HELLO_WORLD)
    final = forward(weights, np.arange(2)).final
    blocks = list(islice(drawn_blocks(seed + 1), N_ENCODERS))
    *_, last = measured(KINDS[5], blocks)
    assert np.abs(final).max() == pytest.approx(last.out[seed], rel=1e-4)
    assert np.abs(final[0] - final[1]).max() == pytest.approx(last.gap[seed], rel=1e-2)


def test_without_norms_the_runtime_refuses_what_overflows_and_never_says_nan() -> None:
    weights = random_encoder(0, HELLO_WORLD)
    config = replace(weights.config, layer_norm=False)
    arrays = {name: weights[name].astype("float16") for name in shapes(config)}
    with pytest.raises(HandcraftError, match=r"layer \d` leaves the range of float16"):
        forward(Weights(config, arrays), np.arange(2))


def test_the_page_tells_the_story_with_the_numbers_of_the_script() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"```text\n{verified(ENTRIES)}\n```" in page
    assert f"```text\n{story()}```" in page
