"""Errors of writing name the file that is meant, and leave the old one whole."""

import errno
import os

import pytest

from vfxgb.cli import main
from vfxgb.data.column_files import ColumnFiles
from vfxgb.data.table import Table
from vfxgb.errors import ConfigError, TableError
from vfxgb.files import naming, write_atomically
from vfxgb.party.folder import PartyFolder
from vfxgb.party.record import RunRecord


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS])
def test_an_error_of_writing_names_the_file(tmp_path, monkeypatch, code):
    file = tmp_path / "run.json"
    write_atomically(file, b"old")

    def full(descriptor):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"run\.json") as caught:
        write_atomically(file, b"new")
    assert (caught.value.errno, caught.value.filename) == (code, str(file))
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "nowhere" / "run.json", b"new")
    assert caught.value.filename == str(tmp_path / "nowhere" / "run.json")


def test_other_errors_pass_as_they_are(tmp_path):
    with pytest.raises(ConfigError, match="mine"), naming(tmp_path):
        raise ConfigError("mine")


def test_columns_that_do_not_fit_on_the_disk_name_their_file(tmp_path, monkeypatch):
    table = Table.read({"a": [1.0, 2.0]})

    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    def opened(descriptor, mode):
        os.close(descriptor)
        return Full()

    monkeypatch.setattr("vfxgb.data.column_files.os.fdopen", opened)
    with pytest.raises(TableError, match=r"columns.*No space left"):
        ColumnFiles.write(table, tmp_path / "columns")


def test_the_command_says_which_file_and_what_to_do(tmp_path, monkeypatch, capsys):
    folder = PartyFolder(tmp_path / "bank").make().run("aa").make()
    folder.write(RunRecord(run="aa", party="bank", role="active", state="running", started=1.0))

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    file = tmp_path / "report.json"
    assert main(["report", str(folder.path), "--json", str(file)]) == 5
    said = capsys.readouterr().err
    assert said == f"vfxgb: '{file}': No space left on device (error {errno.ENOSPC}); make room there\n"
