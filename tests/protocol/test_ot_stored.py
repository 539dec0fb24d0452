"""Set-ups of `ot_shares` that are stored and used again: how often, by which runs, and what is refused."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ot_runs import masked_bytes, same_model, seed_randomness, tables, train
from vfxgb.data.table import Table
from vfxgb.engine.settings import EngineSettings
from vfxgb.errors import CapacityError, FormatError, TransferError
from vfxgb.protocols.ot_shares import bound
from vfxgb.protocols.ot_shares.active import OtSource

LISTS = ["bank.shop.vfxgb-ot-runs", "shop.bank.vfxgb-ot-runs"]
FILES = ["bank.shop.vfxgb-ot", "shop.bank.vfxgb-ot", *LISTS]


def stored(folder: Path, **more: Any) -> Any:
    return train({"setup_dir": str(folder)}, **more)


def requests(result: Any) -> int:
    return sum(entry.messages for entry in result.ledger.entries if entry.message == "ot-request")


def test_a_stored_set_up_is_used_again(tmp_path: Path) -> None:
    first, second = stored(tmp_path), stored(tmp_path)
    assert (requests(first), requests(second)) == (3, 0)
    assert same_model(first, second)
    files = sorted(path.name for path in tmp_path.iterdir())
    names = ["bank.shop.vfxgb-ot", "bank.shop.vfxgb-ot-runs", "shop.bank.vfxgb-ot", "shop.bank.vfxgb-ot-runs"]
    assert files == names
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    # Other blocks than those of the set-up do not matter, nor do other labels.
    y = np.random.default_rng(1).integers(0, 2, 40).astype(np.float64)
    third = train({"setup_dir": str(tmp_path), "setup_rows": 7}, y=y)
    assert requests(third) == 0
    assert same_model(third, train({"precision_bits": 31}, "plain", y=y))


def test_a_stored_set_up_needs_no_base_transfers(tmp_path: Path) -> None:
    first, second = ({entry.message for entry in stored(tmp_path).ledger.entries} for _ in range(2))
    assert first - second == {"ot-reply", "ot-request", "ot-answer"}


@pytest.mark.parametrize("shards_first", [False, True])
def test_a_set_up_serves_rows_in_memory_and_in_shards(shards_first: bool, tmp_path: Path) -> None:
    """One file, whoever wrote it; its blocks and the shards end at different rows."""
    shards = EngineSettings(memory_limit="300MB", shards=4)
    engines = [shards, EngineSettings()] if shards_first else [EngineSettings(), shards]
    first, second, third = (stored(tmp_path, engine=engine) for engine in (*engines, engines[0]))
    assert [requests(one) for one in (first, second, third)] == [3, 0, 0]
    assert same_model(first, second)
    assert same_model(first, third)
    assert same_model(first, train())


def test_a_set_up_on_a_cluster_is_used_again(tmp_path: Path, dask_client: Any) -> None:
    engine = EngineSettings(engine="dask", engine_address=dask_client, workers_hold_key=True, shards=3)
    first, second = (stored(tmp_path, engine=engine) for _ in range(2))
    assert (requests(first), requests(second)) == (3, 0)
    assert same_model(first, second)
    assert same_model(first, train())


def test_blocks_that_the_head_does_not_announce(tmp_path: Path) -> None:
    """A file that is whole, but has a block too many."""
    stored(tmp_path)
    path = tmp_path / "bank.shop.vfxgb-ot"
    longer = path.read_bytes()[:-32] + bytes(16)
    path.write_bytes(longer + hashlib.sha256(longer).digest())
    with pytest.raises(FormatError, match="has other blocks than its head says; remove it to set up again"):
        stored(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_a_lost_file_means_a_new_set_up(name: str, tmp_path: Path) -> None:
    """Without its list a set-up may have served any number of trees, and any run."""
    stored(tmp_path)
    (tmp_path / name).unlink()
    assert requests(stored(tmp_path)) == 3
    assert requests(stored(tmp_path)) == 0


def entered(folder: Path, name: str) -> list[tuple[str, int, int]]:
    """(set-up, run, trees) of every run in a list."""
    return [tuple(msgspec.json.decode(line)) for line in (folder / name).read_bytes().splitlines()]


def test_runs_are_entered_before_their_first_mask_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At both parties, with all trees that the run may grow, also if it then breaks off."""

    def stop(*_: Any) -> None:
        raise KeyError

    monkeypatch.setattr(OtSource, "_send_rows", stop)
    for runs in (1, 2):
        with pytest.raises(KeyError):
            stored(tmp_path, n_estimators=3)
        bank, shop = (entered(tmp_path, f"{name}.vfxgb-ot-runs") for name in ("bank.shop", "shop.bank"))
        assert bank == shop
        assert [trees for _, _, trees in bank] == [3] * runs
        assert len({session for session, _, _ in bank}) == 1
        assert len({run for _, run, _ in bank}) == runs


def test_a_set_up_serves_so_many_trees_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is made anew, and the ledger says why."""
    # Blocks of 15 rows, slots of 10 and 8 leaves, that is of 4 and 3 levels. Five trees: q = 15 * (3 + 2 + 2 * 5).
    monkeypatch.setattr(bound, "_MOST_HIDDEN", 15 * 15)
    results = [stored(tmp_path) for _ in range(4)]
    assert [requests(one) for one in results] == [3, 0, 3, 0]
    assert [[trees for _, _, trees in entered(tmp_path, name)] for name in LISTS] == [[2, 2], [2, 2]]
    said = "the stored set-up with shop was made anew: it has served 4 trees of 5, and this run may grow 2"
    assert [said in one.ledger.text() for one in results] == [False, False, True, False]
    masks = "masks towards shop: 2 slots in blocks of 15 rows, 4 trees; guessing one takes about 2^119 evaluations"
    assert [masks in one.ledger.text() for one in results] == [False, True, False, True]
    assert all(same_model(one, results[0]) for one in results)


def test_a_passive_party_counts_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If its list says more than the active party's, it does not use the set-up again either."""
    monkeypatch.setattr(bound, "_MOST_HIDDEN", 15 * 15)
    stored(tmp_path)
    (path,) = tmp_path.glob("shop.bank.vfxgb-ot-runs")
    session, run, _ = entered(tmp_path, path.name)[0]
    path.write_bytes(path.read_bytes() + msgspec.json.encode((session, run + 1, 2)) + b"\n")
    again = stored(tmp_path)
    assert requests(again) == 3
    assert "the set-up was made anew: shop does not use the stored one again" in again.ledger.text()


def test_a_run_that_no_set_up_may_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "_MOST_HIDDEN", 15 * 8)
    match = r"setting up with shop: 2 trees with blocks of 15 rows .* at least 2\^100; set setup_rows to at most 13"
    with pytest.raises(CapacityError, match=match):
        train()
    assert requests(train({"setup_rows": 13})) == 4
    # Without a number of its own a run takes what is allowed.
    assert requests(train({"setup_rows": None})) == 4


def test_masks_of_two_runs_differ(tmp_path: Path) -> None:
    seen = [masked_bytes(stored(tmp_path, record=True)) for _ in range(2)]
    assert not np.isin(seen[0], seen[1]).any()


def test_bins_that_changed(tmp_path: Path) -> None:
    stored(tmp_path)
    parts, score = tables()
    column = parts["shop"].column(1).copy()
    column[7] = -column[7]
    other = Table.read(np.column_stack([parts["shop"].column(0), column]), names=["f2", "f3"], party="shop")
    with pytest.raises(TransferError, match="shop setting up: the bins have changed since the set-up was stored"):
        stored(tmp_path, data=({**parts, "shop": other}, score))
    one = Table.read(parts["shop"].column(0)[:, None], names=["f2"], party="shop")
    with pytest.raises(TransferError, match="the bins have changed"):
        stored(tmp_path, data=({**parts, "shop": one}, score))
    with pytest.raises(TransferError, match="the stored set-up is for 40 training rows, found 50"):
        stored(tmp_path, data=tables(50))


def test_columns_that_shared_trees_otherwise(tmp_path: Path) -> None:
    """shop's columns have 10 and 8 leaves: with room for 80 they share a tree."""
    wide = {"setup_dir": str(tmp_path), "joint_leaves": 80}
    first, second = train(wide), train(wide)
    assert (requests(first), requests(second)) == (3, 0)
    assert same_model(first, second)
    assert same_model(first, train())
    with pytest.raises(TransferError, match="the set-up was stored with joint_leaves=80, found 64; use that number"):
        stored(tmp_path)


def test_files_of_two_set_ups(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        stored(folder)
    (one / "shop.bank.vfxgb-ot").write_bytes((other / "shop.bank.vfxgb-ot").read_bytes())
    with pytest.raises(TransferError, match=r"has kept the set-up of session [0-9a-f]{16}, found [0-9a-f]{16} here"):
        stored(one)


def test_a_run_that_comes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks would be used twice."""
    seed_randomness(monkeypatch, 5)
    stored(tmp_path)
    runs = [run for _, run, _ in entered(tmp_path, "shop.bank.vfxgb-ot-runs")]
    assert len(runs) == 1
    for lost in (None, "bank.shop.vfxgb-ot-runs"):
        if lost is not None:
            # The passive party refuses, too.
            path = tmp_path / lost
            path.write_bytes(path.read_bytes().replace(str(runs[0]).encode(), b"1"))
        seed_randomness(monkeypatch, 5)
        with pytest.raises(TransferError, match=f"found run {runs[0]:016x}, which has used its masks already"):
            stored(tmp_path)


@pytest.mark.parametrize("name", ["bank.shop.vfxgb-ot", "shop.bank.vfxgb-ot"])
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda data: data[:-1], "truncated or damaged"),
        (lambda data: data[:20], "truncated or damaged"),
        (lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:], "truncated or damaged"),
        (lambda data: b"other" + data, "is no set-up of this version and side"),
        (lambda _: b"", "is no set-up of this version and side"),
    ],
)
def test_damaged_files(name: str, change: Callable[[bytes], bytes], match: str, tmp_path: Path) -> None:
    stored(tmp_path)
    path = tmp_path / name
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FormatError, match=match):
        stored(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TransferError, match=r"found no folder .*, wanted an existing one as setup_dir"):
        stored(tmp_path / "none")
    stored(tmp_path)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("data", [b"{}", b"[1]", b'["00", 1, -1]', b"\xff"])
def test_a_list_of_runs_that_is_none(name: str, data: bytes, tmp_path: Path) -> None:
    stored(tmp_path)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match="is malformed"):
        stored(tmp_path)
