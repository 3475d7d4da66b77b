"""The benchmarks still run, and both sides of a pair do the same work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ratios

import handcraft

if TYPE_CHECKING:
    from pathlib import Path


def test_generation_with_and_without_a_cache_writes_the_same() -> None:
    model = ratios.stock_model(n_ctx=24)
    assert ratios.without_cache(model, "a", 9) == model.complete("a", 9)


def test_the_timed_process_compiles_the_program(tmp_path: Path) -> None:
    target = tmp_path / "aab.npz"
    ratios.processes(str(target)).what()
    assert handcraft.load(target).complete("aab") == "aabaabaaba"


def test_a_pair_is_timed_in_turn() -> None:
    calls: list[str] = []
    pair = ratios.Pair("a", lambda: calls.append("a"), "b", lambda: calls.append("b"))
    what, other = ratios.timed(pair, rounds=2)
    assert calls == ["a", "b"] * 3
    assert what >= 0
    assert other >= 0
