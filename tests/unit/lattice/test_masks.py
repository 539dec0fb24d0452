"""Masks: made ahead, taken once, wiped; in a file they are gone before they are given out."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from lattice_runs import Table, draw_level, parties
from vfxgb import _native
from vfxgb.errors import LatticeError
from vfxgb.lattice import HolderSettings, Level
from vfxgb.lattice.masks import MaskFile, MaskStock

DEGREE, COLUMNS = 128, 3
NAME = bytes(range(32))


def make_maker() -> _native.lattice.MaskMaker:
    element = np.random.default_rng(1).integers(0, 1 << 64, DEGREE, dtype=np.uint64) & np.uint64(
        ~0xFFFF & (1 << 64) - 1
    )
    z = _native.lattice.pack_words(np.zeros((COLUMNS, DEGREE), dtype=np.uint64), 48)
    return _native.lattice.MaskMaker(DEGREE, 48, element, z, COLUMNS, 48)


def make_stock(ahead: int, file: MaskFile | None = None) -> MaskStock:
    return MaskStock(make_maker(), DEGREE, COLUMNS, ahead, 1, file)


def make_file(path: Path, places: int = 4, name: bytes = NAME) -> MaskFile:
    return MaskFile(path, name, places, DEGREE + COLUMNS)


def wait_until(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_masks_are_made_ahead_and_none_comes_twice() -> None:
    with make_stock(5) as stock:
        wait_until(lambda: len(stock) == 5)
        seen = set()
        for count in (0, 1, 3, 12, 2):  # more than there are: the rest is made now
            w, x = stock.take(count)
            assert (w.shape, x.shape) == ((count, DEGREE), (count, COLUMNS))
            seen |= {bytes(row) for row in w}
        assert len(seen) == 18
        wait_until(lambda: len(stock) == 5)
    with pytest.raises(LatticeError, match="closed"):
        stock.take(1)


def test_masks_are_wiped_once_they_are_used_or_the_stock_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every array that held a mask: in the stock, as it was made, and as it was taken for a level."""
    both = parties(Table.draw(300, 2, 1), HolderSettings(threads=1, ahead=3))
    taken: list[np.ndarray] = []
    take = MaskStock.take

    def noted(self: MaskStock, count: int) -> tuple[np.ndarray, np.ndarray]:
        taken.extend(both := take(self, count))
        return both

    monkeypatch.setattr(MaskStock, "take", noted)
    holder = both.holder
    with holder:
        both.set_up()
        wait_until(lambda: holder.masks_ready == 3)
        held = list(holder._stock._made)
        assert all(mask.any() for mask in held)
        both.holder.sum(draw_level(holder, 2, 1))
        assert len(taken) == 2
        assert not any(part.any() for part in taken)
        assert sum(not mask.any() for mask in held) == 2
        wait_until(lambda: holder.masks_ready == 3)
        later = list(holder._stock._made)
        assert all(mask.any() for mask in later)
    assert not any(mask.any() for mask in (*held, *later))


def test_masks_in_a_file_outlive_the_party_and_are_gone_once_taken(tmp_path: Path) -> None:
    path = tmp_path / "masks"
    with make_stock(4, make_file(path)) as stock:
        wait_until(lambda: len(stock) == 4)
    file = make_file(path)
    kept = {place: bytes(file._data[place, 1:]) for place in file.ready()}
    assert len(kept) == 4
    words = file.take(2)
    # On disk, as another process would find it right now: neither ready nor readable.
    data = np.fromfile(path, dtype=np.uint64)[4:].reshape(4, -1)
    assert bytes(words) == kept[2]
    assert not data[2].any()
    with pytest.raises(LatticeError, match=r"found mask 2 of .*masks used up, .* remove the file"):
        file.take(2)
    file.close()
    with make_stock(3, make_file(path)) as later:
        w, x = later.take(3)
        taken = {bytes(np.concatenate([w[k], x[k]])) for k in range(3)}
        assert taken == {kept[0], kept[1], kept[3]}


def test_a_file_serves_one_run_at_a_time(tmp_path: Path) -> None:
    file = make_file(tmp_path / "masks")
    with pytest.raises(LatticeError, match="is used by another run"):
        make_file(tmp_path / "masks")
    file.close()
    make_file(tmp_path / "masks").close()


def test_a_mask_that_was_not_all_written_does_not_count(tmp_path: Path) -> None:
    file = make_file(tmp_path / "masks")
    file._data[1, 1:] = 7  # killed before the mark
    assert file.ready() == []
    assert file.free() == [0, 1, 2, 3]


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_party_that_dies_while_it_keeps_or_takes_a_mask(at: int, tmp_path: Path, monkeypatch) -> None:
    """At any write to the disk: a mask that came out never comes again, nor one that was wiped in part."""
    path, flushes = tmp_path / "masks", [0]

    def flush(data: np.memmap) -> None:
        flushes[0] += 1
        if flushes[0] == at:
            raise InterruptedError

    def keep_and_take(file: MaskFile) -> None:
        file.put(0, np.arange(1, DEGREE + COLUMNS + 1, dtype=np.uint64))
        file.take(0)

    file = make_file(path)
    monkeypatch.setattr(np.memmap, "flush", flush)
    with pytest.raises(InterruptedError):
        keep_and_take(file)
    file.close()
    monkeypatch.undo()
    later = make_file(path)
    # Before the mark it does not count; with the mark it is whole; taken, it is gone, although nobody has it.
    assert later.ready() == ([0] if at == 2 else [])
    for place in later.ready():
        assert later.take(place).all()
    later.close()


@pytest.mark.parametrize("change", ["name", "places", "cut"])
def test_a_file_of_another_set_up_is_begun_anew(tmp_path: Path, change: str) -> None:
    path = tmp_path / "masks"
    file = make_file(path)
    file.put(0, np.ones(DEGREE + COLUMNS, dtype=np.uint64))
    file.close()
    file = make_file(path)
    assert file.ready() == [0]
    file.close()
    if change == "cut":
        os.truncate(path, 100)
    other = make_file(path, 5 if change == "places" else 4, bytes(32) if change == "name" else NAME)
    assert other.ready() == []
    assert not np.fromfile(path, dtype=np.uint64)[4:].any()


def test_a_forked_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with make_stock(1) as stock:
        monkeypatch.setattr("vfxgb.lattice.masks.os.getpid", lambda: -1)
        with pytest.raises(LatticeError, match="after a fork both would use the same ones"):
            stock.take(1)
        monkeypatch.undo()


def test_errors_of_the_thread_come_out_where_masks_are_taken() -> None:
    class Broken:
        def make(self, count: int, threads: int):
            raise MemoryError("no room")

    stock = MaskStock(Broken(), DEGREE, COLUMNS, 1)  # type: ignore[arg-type]
    wait_until(lambda: not stock._thread.is_alive())
    with pytest.raises(MemoryError, match="no room"):
        stock.take(1)


def test_runs_that_share_a_set_up_share_no_mask(tmp_path: Path) -> None:
    table = Table.draw(500, 4, 1)
    settings = HolderSettings(threads=1, ahead=3, setup_dir=tmp_path, keep_masks=True)
    seen = []
    for _ in range(3):
        both = parties(table, settings, setup_dir=tmp_path)
        with both.holder:
            both.set_up()
            wait_until(lambda own=both: len(own.holder._stock) == 3)
            empty = Level.of([([], [])] * 2)  # w is the mask itself
            seen += [bytes(both.holder.sum(empty)[0].words)]
            both.owner._level = 1
            level = draw_level(both.holder, 3, 1)
            np.testing.assert_array_equal(both.sums(level), table.sums(level))
    halves = {words[i : i + len(words) // 2] for words in seen for i in (0, len(words) // 2)}
    assert len(halves) == 6
