import io
import json
import math
import threading

import msgspec
import numpy as np
import pytest

from vfxgb.checksum import checksum
from vfxgb.errors import CheckpointError, ConfigError, FormatError
from vfxgb.party.folder import PartyFolder, ledger_document
from vfxgb.party.logs import Log
from vfxgb.party.messages import Hello
from vfxgb.party.record import RunRecord
from vfxgb.party.rows import AgreedRows, load_rows, save_rows
from vfxgb.runtime.ledger import Ledger, Opened

RUN = "00112233445566778899aabbccddeeff"


def _record(run, started=1.0):
    return RunRecord(run=run, party="bank", role="active", state="running", started=started)


def test_records_come_back_and_runs_are_found(tmp_path):
    folder = PartyFolder(tmp_path / "bank").make()
    for number, run in enumerate(("aa01", "aa02", "bb01")):
        folder.run(run).make().write(_record(run, float(number)))
    assert folder.run("aa02").read() == _record("aa02", 1.0)
    assert [run_folder.run for run_folder in folder.runs()] == ["bb01", "aa02", "aa01"]
    assert folder.find("bb").run == folder.find("latest").run == "bb01"
    for text in ("aa", "cc"):
        with pytest.raises(ConfigError, match="runs there: bb01, aa02, aa01"):
            folder.find(text)
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0


def test_a_folder_that_others_can_enter_is_closed(tmp_path):
    (tmp_path / "bank").mkdir(mode=0o755)
    PartyFolder(tmp_path / "bank").make()
    assert (tmp_path / "bank").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "{}", '{"format": "vfxgb run"}', "[1]"])
def test_a_record_that_is_none(tmp_path, text):
    folder = PartyFolder(tmp_path / "bank").make().run("aa").make()
    folder.run_file.write_text(text)
    with pytest.raises(FormatError, match="no record of a run"):
        folder.read()


def test_a_record_of_another_version(tmp_path):
    folder = PartyFolder(tmp_path / "bank").make().run("aa").make()
    folder.write(_record("aa"))
    document = {**json.loads(folder.run_file.read_text()), "version": 9}
    folder.run_file.write_text(json.dumps({**document, "checksum": checksum(document)}))
    with pytest.raises(FormatError, match="of version 9"):
        folder.read()


def test_every_flipped_byte_of_a_record_is_noticed_or_harmless(tmp_path):
    folder = PartyFolder(tmp_path / "bank").make().run("aa").make()
    record = _record("aa")
    record = msgspec.structs.replace(record, purpose="crédit", evals={"train": {"auc": [math.nan, 0.5]}})
    folder.write(record)
    whole = folder.run_file.read_bytes()
    noticed = 0
    for place in range(len(whole)):
        for bit in (1, 128):
            folder.run_file.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            try:
                # Spaces may become other spaces, and the name of the checksum another.
                assert msgspec.structs.replace(folder.read(), evals={}) == msgspec.structs.replace(record, evals={})
            except FormatError:
                noticed += 1
    assert noticed > len(whole)


def test_a_record_without_a_checksum_is_read_and_one_that_was_edited_is_not(tmp_path):
    folder = PartyFolder(tmp_path / "bank").make().run("aa").make()
    folder.write(_record("aa"))
    document = json.loads(folder.run_file.read_text())
    assert len(document.pop("checksum")) == 64
    folder.run_file.write_text(json.dumps(document))
    assert folder.read() == _record("aa")
    folder.write(_record("aa"))
    folder.run_file.write_text(folder.run_file.read_text().replace('"rounds": 0', '"rounds": 7'))
    with pytest.raises(FormatError, match="contents do not match its checksum; restore a copy"):
        folder.read()


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"", b"{" * 100_000, b'{"run": "\xff"}', b"[" * 100_000])
def test_a_damaged_run_hides_no_other(tmp_path, damage):
    folder = PartyFolder(tmp_path / "bank").make()
    for number, run in enumerate(("aa01", "bb01", "cc01")):
        folder.run(run).make().write(_record(run, float(number)))
    folder.run("bb01").run_file.write_bytes(damage)
    assert [run_folder.run for run_folder in folder.runs()] == ["cc01", "aa01"]
    assert folder.find("aa").run == "aa01"
    assert folder.find("latest").run == "cc01"
    assert list(folder.damaged()) == ["bb01"]
    with pytest.raises(FormatError, match=r"bb01/run\.json.*other runs"):
        folder.find("bb")


def test_a_ledger_as_a_document():
    ledger = Ledger()
    words = Hello(1, "check", "0", 0.0)
    ledger.record("bank", "shop", words, 10)
    ledger.opened["shop"] = Opened(24, 500)
    document = json.loads(json.dumps(ledger_document(ledger)))
    assert document["opened"] == {"shop": {"equations": 24, "rows": 500}}
    assert "shop opened sums of 12 nodes: 24 equations for 500 rows; from about 2 x nodes x trees" in document["text"]
    assert document["entries"][0]["message"] == "hello"
    assert "shop learned" in document["text"]


def test_agreed_rows_come_back_while_the_table_is_the_same(tmp_path):
    table, file = tmp_path / "t.csv", tmp_path / "rows.bin"
    table.write_text("id\n1\n")
    groups = (np.array([4, 2, 9]), np.array([], dtype=np.int64))
    save_rows(file, AgreedRows.of(RUN, groups, b"d" * 32, (table,)))
    rows = load_rows(file, RUN, (table,))
    assert [group.tolist() for group in rows.groups()] == [[4, 2, 9], []]
    assert rows.digest == b"d" * 32
    with pytest.raises(CheckpointError, match="found rows of run 00112233"):
        load_rows(file, "ff" * 16, (table,))
    with pytest.raises(CheckpointError, match="1 tables, now there are 0"):
        load_rows(file, RUN, ())
    table.write_text("id\n2\n")
    with pytest.raises(CheckpointError, match="has changed since the run began"):
        load_rows(file, RUN, (table,))


def test_a_folder_of_tables_changes_with_any_of_its_files(tmp_path):
    folder, file = tmp_path / "t", tmp_path / "rows.bin"
    (folder / "b").mkdir(parents=True)
    for name in ("a.parquet", "b/c.parquet"):
        (folder / name).write_text(name)
    save_rows(file, AgreedRows.of(RUN, (np.arange(3),), b"d" * 32, (folder,)))
    (folder / "notes.txt").write_text("not a table")
    load_rows(file, RUN, (folder,))

    def refused():
        with pytest.raises(CheckpointError, match="has changed since the run began"):
            load_rows(file, RUN, (folder,))

    (folder / "b" / "c.parquet").rename(folder / "b" / "d.parquet")
    refused()
    (folder / "b" / "d.parquet").rename(folder / "b" / "c.parquet")
    load_rows(file, RUN, (folder,))
    (folder / "b" / "c.parquet").write_text("b/C.parquet")
    refused()
    (folder / "b" / "c.parquet").unlink()
    refused()


def test_every_flipped_byte_of_the_rows_is_noticed(tmp_path):
    file = tmp_path / "rows.bin"
    save_rows(file, AgreedRows.of(RUN, (np.arange(3),), b"d" * 32, ()))
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CheckpointError):
            load_rows(file, RUN, ())
    for length in (0, 5, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            load_rows(file, RUN, ())
    file.unlink()
    with pytest.raises(CheckpointError, match="start a new run"):
        load_rows(file, RUN, ())


def test_a_log_takes_lines_from_several_threads(tmp_path, capsys):
    log = Log(tmp_path / "log.jsonl")
    threads = [threading.Thread(target=lambda: [log.info("event", number=n) for n in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert len(lines) == 200
    assert set(lines[0]) == {"time", "level", "event", "number", "text"}
    assert (tmp_path / "log.jsonl").stat().st_mode & 0o077 == 0
    Log(tmp_path / "nowhere" / "log.jsonl").error("event", text="lost")
    assert "cannot be written" in capsys.readouterr().err


def _numbers(*files):
    return [[json.loads(line)["number"] for line in file.read_text().splitlines()] for file in files]


def test_a_log_is_bounded_and_old_files_are_kept(tmp_path):
    file = tmp_path / "log.jsonl"
    log = Log(file, most_bytes=1000, kept=2)
    for number in range(100):
        log.info("event", number=number, text="x" * 100)
    old = [tmp_path / "log.jsonl.1", tmp_path / "log.jsonl.2"]
    assert sorted(path.name for path in tmp_path.glob("log*")) == ["log.jsonl", "log.jsonl.1", "log.jsonl.2"]
    for path in (file, *old):
        assert path.stat().st_size <= 1000
        assert path.stat().st_mode & 0o077 == 0
    newest, older, oldest = _numbers(file, *old)
    assert newest[-1] == 99
    assert oldest + older + newest == list(range(oldest[0], 100))
    # Fewer are kept from now on: those beyond go.
    for number in range(20):
        Log(file, most_bytes=1000, kept=1).info("event", number=number, text="x" * 100)
    assert sorted(path.name for path in tmp_path.glob("log*")) == ["log.jsonl", "log.jsonl.1"]
    for number in range(20):
        Log(file, most_bytes=1000, kept=0).info("event", number=number, text="x" * 100)
    assert [path.name for path in tmp_path.glob("log*")] == ["log.jsonl"]


def test_a_log_that_several_writers_bound_loses_no_line(tmp_path):
    """Each writer is as good as a process: it has a lock of its own."""
    file = tmp_path / "log.jsonl"

    def write(first):
        log = Log(file, most_bytes=2000, kept=1000)
        for number in range(first, first + 50):
            log.info("event", number=number)

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 50, 100, 150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    numbers = [number for part in _numbers(*tmp_path.glob("log.jsonl*")) for number in part]
    assert sorted(numbers) == list(range(200))


def test_words_of_others_do_not_steer_the_terminal():
    echo = io.StringIO()
    log = Log(None, echo)
    log.info("asked", purpose="x\n\x1b[2J10:00:00 trained run=FAKE\x07", text="first\nsecond\x1b[31m")
    first, second = echo.getvalue().splitlines()
    assert first.isprintable()
    assert second == "    second\\x1b[31m"
    assert "purpose=x\\n\\x1b[2J10:00:00 trained run=FAKE\\x07" in first
