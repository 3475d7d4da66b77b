"""How long things take beside each other: `python tests/benchmarks/ratios.py [rounds]`.

The two sides of a pair are timed in turn, so that whatever else the machine does falls on both;
their medians and the ratio are printed. Seconds say little on another machine, ratios more.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from handcraft.runtime.config import Config, LayerConfig
from handcraft.runtime.description import Description
from handcraft.runtime.model import Model
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import Weights, shapes

if TYPE_CHECKING:
    from collections.abc import Callable

AAB = Path(__file__).parents[2] / "programs" / "aab.rasp"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ways to spend time; the second is what the first is measured by."""

    name: str
    what: Callable[[], object]
    beside: str
    other: Callable[[], object]


def main() -> None:
    """Time all pairs and print their medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    with TemporaryDirectory() as folder:
        target = str(Path(folder) / "aab.npz")
        for pair in (processes(target), generation(stock_model(64), n=60)):
            what, other = timed(pair, rounds)
            print(f"{pair.name:<32} {what:7.3f} s")
            print(f"{'  beside ' + pair.beside:<32} {other:7.3f} s   ratio {what / other:.2f}")


def timed(pair: Pair, rounds: int) -> tuple[float, float]:
    """Return the median seconds of both sides, timed in turn after one round to warm up."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):
        for run, kept in zip((pair.what, pair.other), seconds, strict=True):
            begun = time.perf_counter()
            run()
            kept.append(time.perf_counter() - begun)
    return median(seconds[0][1:]), median(seconds[1][1:])


def processes(target: str) -> Pair:
    """Return the compilation of a small program beside the imports that it cannot do without."""
    compile_ = [sys.executable, "-m", "handcraft", "compile", str(AAB), "-o", target]
    imports = [sys.executable, "-c", "import numpy, lark"]
    return Pair(
        "handcraft compile aab.rasp",
        lambda: subprocess.run(compile_, check=True, capture_output=True),
        "import numpy, lark",
        lambda: subprocess.run(imports, check=True, capture_output=True),
    )


def generation(model: Model, n: int) -> Pair:
    """Return the generation of n tokens with the key/value cache beside that without it."""
    return Pair(
        f"{n} tokens with a cache",
        lambda: model.complete("a", n),
        "one pass a token",
        lambda: without_cache(model, "a", n),
    )


def without_cache(model: Model, text: str, n: int) -> str:
    """Return what `complete` writes, from a whole pass for each token."""
    written = ""
    for _ in range(n):
        written += str(model.predict(text + written))
    return written


def stock_model(n_ctx: int) -> Model:
    """Return a random model of GPT-2's shape, norms, GELU and all."""
    config = Config(
        n_ctx=n_ctx,
        n_vocab=len(LETTERS),
        d_model=96,
        n_out=len(LETTERS),
        layers=(LayerConfig(4, 24, 384),) * 3,
        activation="gelu_new",
        layer_norm=True,
    )
    chance = np.random.default_rng(0)
    arrays = {name: chance.normal(0, 0.3, shape) for name, shape in shapes(config).items()}
    return Model(Weights(config, arrays), vocabulary("characters", LETTERS), Description("predict"))


if __name__ == "__main__":
    main()
