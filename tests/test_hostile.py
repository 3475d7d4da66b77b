"""Hostile programs too large to keep as files: refused in seconds and bounded memory.

The command runs as a process of its own, under a limit of memory; the small ones among the
hostile programs are in `errors/hostile_*.rasp`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import handcraft
from handcraft.language import builder, elaborate, parse

if TYPE_CHECKING:
    from pathlib import Path

HEADER = 'vocab "ab";\ncontext 5;\n'
LIMITED = """
import resource, runpy
resource.setrlimit(resource.RLIMIT_AS, (2**30,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (5, 6))
runpy.run_module("handcraft", run_name="__main__")
"""

MEANS = """
earlier = select(tokens, tokens, ==) and select(indices, indices, <);
output aggregate(earlier, indices, "none");
"""
"""A mean has thousands of values, and one of them is a text, so that each needs a direction."""

HUGE = {
    "a mean of thousands of values": (
        'vocab "abc";\ncontext 24;\nattention causal;' + MEANS,
        "too-large",
    ),
    "a million lines": (HEADER + "x = indices;\n" * 1_000_000, "too-large"),
    "a million brackets": ("(" * 1_000_000, "too-large"),
    "a million closed brackets": (")" * 1_000_000, "syntax"),
    "a million negations": (HEADER + f"output {'not ' * 1_000_000}True;", "too-large"),
    "ten thousand mistakes": (
        HEADER + "".join(f"y{i} = tokns{i};\n" for i in range(10_000)),
        "unknown-name",
    ),
    "a number of a million digits": (HEADER + f"output {'9' * 1_000_000};", "syntax"),
    "a name of a million letters": (HEADER + f"output {'x' * 1_000_000};", "too-large"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="limits of memory are POSIX's")
@pytest.mark.parametrize("name", HUGE)
def test_a_huge_program_is_refused_in_seconds_and_bounded_memory(name: str, tmp_path: Path) -> None:
    text, code = HUGE[name]
    path = tmp_path / "huge.rasp"
    path.write_text(text, encoding="utf-8")
    done = compiled(path)
    assert done.returncode == 1
    place, _, _ = done.stderr.partition(f": {code}: ")
    assert place.startswith(f"{path}:")
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 10_000


@pytest.mark.skipif(sys.platform == "win32", reason="limits of memory are POSIX's")
def test_a_file_of_a_hundred_megabytes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.rasp"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    done = compiled(path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"too-large: `{path}` has more than 16 MiB")


def test_a_file_loaded_a_thousand_times_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elaborate, "LARGEST_LOADED", 2000)
    (tmp_path / "part.rasp").write_text("x = tokens;\n" * 10, encoding="utf-8")
    path = tmp_path / "main.rasp"
    path.write_text(HEADER + 'load "part.rasp";\n' * 1000 + "output x;", encoding="utf-8")
    with pytest.raises(handcraft.HandcraftError, match="more than 2000 characters") as caught:
        handcraft.parse(path)
    assert caught.value.span is not None
    assert caught.value.span.line == 3 + 2000 // len("x = tokens;\n" * 10)


def test_tables_are_counted_over_all_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MOST_CELLS", 5000)
    text = "vocab 0..99; context 5; x = tokens;\nfor i in range({}) {{ x = (x * 3 + i) % 101; }}\n"
    expected = 1
    for i in range(9):
        expected = (expected * 3 + i) % 101
    assert handcraft.parse(text.format(9) + "output x;").run([1]) == [expected]
    with pytest.raises(handcraft.HandcraftError, match="more than 5000 cells together") as caught:
        handcraft.parse(text.format(99) + "output x;")
    assert caught.value.code == "too-large"
    assert caught.value.span is not None
    assert caught.value.span.line == 2


def test_a_text_of_as_many_words_as_are_read_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "MOST_TOKENS", 16)
    text = 'vocab "ab"; context 5; output [1, 2][0]'
    assert handcraft.parse(text + ";").run("a") == [1]
    with pytest.raises(handcraft.HandcraftError, match="more than 16 words and signs") as caught:
        handcraft.parse(text + " + 1;")
    assert caught.value.span is not None
    assert caught.value.span.text == "1"


def test_the_largest_vocabulary_can_be_written_out() -> None:
    assert parse.MOST_TOKENS > 2 * 65_536 + 100


def compiled(path: Path) -> subprocess.CompletedProcess[str]:
    """Return how `handcraft compile` ends within 1 GiB and 5 seconds of computing."""
    command = [sys.executable, "-c", LIMITED, "compile", str(path)]
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=one_thread)
