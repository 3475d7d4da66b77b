"""Program files, good and bad."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handcraft.errors import FileError
from handcraft.language import files
from handcraft.language.files import read_source


def refusal(path: Path) -> tuple[str, str]:
    with pytest.raises(FileError) as caught:
        read_source(path, "shown.rasp")
    return caught.value.code, caught.value.message


def test_a_file_is_read_under_the_name_that_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.rasp"
    path.write_bytes('x = "§";\n'.encode())
    source = read_source(path, "shown.rasp")
    assert (source.text, source.name) == ('x = "§";\n', "shown.rasp")


def test_a_byte_order_mark_and_the_kind_of_line_ends_make_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "a.rasp"
    path.write_bytes(b"\xef\xbb\xbfa;\r\nb;\rc;\n")
    assert read_source(path, "a").text == "a;\nb;\nc;\n"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.rasp") == ("no-file", "there is no file `shown.rasp`")


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    assert refusal(tmp_path) == ("is-a-folder", "`shown.rasp` is a folder")


def test_bytes_that_are_no_text_have_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.rasp"
    path.write_bytes(b"a;\nb;\nc\xff;\n")
    message = "`shown.rasp` is not UTF-8 text: byte 0xff in line 3"
    assert refusal(path) == ("not-text", message)


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.rasp"
    with path.open("wb") as file:
        os.truncate(file.fileno(), files.LARGEST + 1)
    assert refusal(path) == ("too-large", "`shown.rasp` has more than 16 MiB")
    monkeypatch.setattr(files, "LARGEST", 2**20)
    path.write_bytes(b" " * 2**20)
    assert len(read_source(path, "a").text) == 2**20


def test_a_path_that_the_system_refuses_is_told() -> None:
    code, message = refusal(Path("a\0b"))
    assert (code, message) == ("unreadable", "`shown.rasp` cannot be read: embedded null byte")
    assert refusal(Path("a" * 5000))[0] == "unreadable"
