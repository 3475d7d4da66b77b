"""The README's table of sizes says what the compiler makes today, and what Tracr's figures are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import handcraft

HERE = Path(__file__).parent
README = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
CONTEXT = 40


def rows() -> list[tuple[str, tuple[int, ...]]]:
    found = []
    for line in README.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[1].replace(",", "").isdigit():
            found.append((cells[0].strip("`"), tuple(int(c.replace(",", "")) for c in cells[1:])))
    return found


def test_there_is_a_table() -> None:
    assert len(rows()) == 5


@pytest.mark.parametrize(("name", "figures"), rows(), ids=lambda value: str(value)[:16])
def test_a_row_is_true(name: str, figures: tuple[int, ...]) -> None:
    program = handcraft.parse(HERE / "tracr" / f"{name}.rasp", context=CONTEXT)
    for level, figure in enumerate(figures[:3]):
        counts = handcraft.compile(program, optimize=level).parameters.counts()
        assert sum(counts[key].total for key in counts if key != "lm_head.weight") == figure
    stored = json.loads((HERE / "tracr" / "stored.json").read_text(encoding="utf-8"))
    (tracr,) = [r for r in stored if r["program"] == name and r["length"] == CONTEXT]
    assert tracr["parameters"] == figures[3]
