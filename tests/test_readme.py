"""Every command and every line of Python in the README does what stands beside it."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from handcraft.cli.commands import handcraft as command

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
)
COMMANDS = [
    line
    for language, block in BLOCKS
    if language == "sh"
    for line in block.splitlines()
    if line.startswith("handcraft ")
]
PYTHON = [block for language, block in BLOCKS if language == "python"]
LIBRARIES = ("transformers", "transformer_lens", "onnx", "safetensors")
HAS_EXTRA = all(find_spec(name) is not None for name in LIBRARIES)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the gallery in it, where commands can write."""
    (tmp_path / "programs").symlink_to(ROOT / "programs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(line: str) -> str:
    """Run a command and return what it prints."""
    result = CliRunner().invoke(command, shlex.split(line, comments=True)[1:])
    assert result.exit_code == int("# refused" in line), f"{line}\n{result.output}"
    return result.stdout


@pytest.mark.usefixtures("checkout")
def test_commands_work_as_printed() -> None:
    said("handcraft compile programs/aab.rasp -o aab.npz")
    assert COMMANDS
    for line in COMMANDS:
        if not HAS_EXTRA and ("handcraft export" in line or "aab-gpt2" in line):
            continue
        printed = said(line)
        shown = re.search(r"# (?:.*: )?([\d ]+|\S+ \S+ :: .*)$", line)
        if shown is not None:
            assert printed.strip() == shown[1].strip()


@pytest.mark.usefixtures("checkout")
def test_python_works_as_printed() -> None:
    names: dict[str, object] = {}
    assert PYTHON
    for block in PYTHON:
        needs_extra = "transformers" in block or "lens" in block
        if needs_extra and not HAS_EXTRA:
            continue
        if needs_extra:
            said("handcraft export programs/aab.rasp --to gpt2 --context 16 -o aab-gpt2")
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            exec(compile(block, "<README>", "exec"), names)
        if "pipeline(" in block:
            assert told.getvalue() == "abaabaabaab\n"
