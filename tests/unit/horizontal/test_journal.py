"""The server's journal: what comes back, what was cut off, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from vfxgb.errors import FormatError
from vfxgb.horizontal.journal import Answer, Journal, LeftOut, Opening, Refused, SetUp, task_digest

RUN, SETTINGS = bytes(range(16)), b"settings"
ENTRIES = (
    SetUp([0, 1, 2]),
    Opening([0, 2]),
    Answer(task_digest(b"task"), [0, 2], np.array([1, -2, 2**62], "<i8").tobytes()),
    LeftOut([2]),
    Refused("too few", True, [1]),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "checkpoint.bin"
    journal = Journal.begin(path, RUN, SETTINGS)
    assert not journal.replays
    for entry in ENTRIES:
        journal.add(entry)
    journal.close()
    return path


def read(file: Path) -> tuple[Journal, list[object]]:
    journal = Journal.read(file, SETTINGS)
    entries = []
    while (entry := journal.next()) is not None:
        entries.append(entry)
    return journal, entries


def test_everything_comes_back(file: Path) -> None:
    for starts in (1, 2, 3):
        journal, entries = read(file)
        assert (journal.run, journal.starts) == (RUN, starts)
        assert entries == list(ENTRIES)
        journal.close()
    answer = entries[2]
    assert isinstance(answer, Answer)
    assert answer.numbers().tolist() == [1, -2, 2**62]
    assert file.stat().st_mode & 0o77 == 0


def test_the_users_of_the_run(file: Path) -> None:
    journal = Journal.read(file, SETTINGS)
    assert journal.users == journal.set_up() == (0, 1, 2)
    assert journal.users is None
    with pytest.raises(FormatError, match="found an entry Opening, wanted the users of the run"):
        journal.set_up()
    journal.close()


@pytest.mark.parametrize("cut", [1, 20, 40])
def test_an_entry_that_was_being_written(file: Path, cut: int) -> None:
    """It is dropped, and the next one stands in its place."""
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    journal, entries = read(file)
    assert entries == list(ENTRIES[:-1])
    journal.add(ENTRIES[-1])
    journal.close()
    journal, entries = read(file)
    journal.close()
    assert entries == list(ENTRIES)


def test_other_settings(file: Path) -> None:
    with pytest.raises(FormatError, match="the run was begun with other settings"):
        Journal.read(file, b"others")


@pytest.mark.parametrize("data", [b"", b"x" * 100])
def test_no_journal(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with pytest.raises(FormatError, match="does not begin as one of version 1 does"):
        Journal.read(file, SETTINGS)
