"""Folders of exports: what is replaced and what never is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from program_files import GALLERY

import handcraft
from handcraft.errors import FileError
from handcraft.exporting.export import export

if TYPE_CHECKING:
    from handcraft.exporting.export import Target
    from handcraft.runtime.model import Model

pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("onnx")


def aab() -> Model:
    return handcraft.compile(handcraft.parse(GALLERY / "aab.rasp"))


def test_an_export_with_something_of_the_users_in_it_is_kept(tmp_path: Path) -> None:
    export(aab(), tmp_path / "aab", to="gpt2")
    (tmp_path / "aab" / ".git").mkdir()
    with pytest.raises(FileError, match="something else in it"):
        export(aab(), tmp_path / "aab", to="onnx")
    assert (tmp_path / "aab" / ".git").is_dir()


@pytest.mark.parametrize("to", ["gpt2", "transformer-lens", "gguf", "onnx", "safetensors", "torch"])
def test_every_export_can_be_replaced(to: Target, tmp_path: Path) -> None:
    model = handcraft.compile(handcraft.parse(GALLERY / "parity.rasp"))
    for _ in range(2):
        export(model, tmp_path / "it", to=to)


@pytest.mark.parametrize("here", [".", "inside"])
def test_the_folder_in_which_the_command_runs_is_not_replaced(
    here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / here).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / here)
    with pytest.raises(FileError, match="cannot be replaced from within"):
        export(aab(), tmp_path, to="gpt2")
    assert Path.cwd().is_dir()


@pytest.mark.parametrize("name", ["n" * 300, "n" * 300 + ".onnx"])
def test_a_name_that_is_too_long_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="file name too long"):
        export(aab(), tmp_path / name, to="onnx")


def test_whoever_is_stopped_between_two_folders_keeps_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(aab(), tmp_path / "aab", to="onnx")

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", stopped)
    with pytest.raises(KeyboardInterrupt):
        export(aab(), tmp_path / "aab", to="gpt2")
    assert [path.name for path in tmp_path.iterdir()] == ["aab"]
    assert (tmp_path / "aab" / "model.onnx").is_file()
