"""Set-ups: kept and used again, resumed wherever a party ended, and refused where something does not fit."""

import itertools
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from lattice_runs import CATALOGUE, Parties, Table, draw_level, parties
from vfxgb.errors import CapacityError, FormatError, FrameError, LatticeError
from vfxgb.lattice import BitColumns, ColumnHolder, ColumnOwner, HolderSettings, LatticeParams, Level, open_sums
from vfxgb.lattice.columns import MAX_COLUMNS
from vfxgb.lattice.elements import ZERO_BLOCK, agreed_bytes, public_element, public_elements, setup_name
from vfxgb.lattice.params import NARROW, WIDE, choose_params
from vfxgb.lattice.store import OwnerHead, SetupFolder
from vfxgb.transport.messages import encode

TABLE = Table.draw(5000, 6, 1)


def in_folder(folder: Path, table: Table = TABLE, **settings: object) -> Parties:
    chosen = HolderSettings(threads=1, ahead=2, setup_dir=folder, **settings)  # type: ignore[arg-type]
    return parties(table, chosen, setup_dir=folder)


def exact(both: Parties, table: Table = TABLE) -> None:
    level = draw_level(both.holder, 3, 8)
    np.testing.assert_array_equal(both.sums(level), table.sums(level))


def test_a_kept_set_up_is_used_again(tmp_path: Path) -> None:
    with (first := in_folder(tmp_path)).holder:
        assert first.set_up() == 3
        exact(first)
    with (second := in_folder(tmp_path)).holder:
        assert second.set_up() == 0
        assert (second.holder.name, second.owner.name) == (first.holder.name, first.owner.name)
        exact(second)
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}


@pytest.mark.parametrize("blocks", [0, 1, 2])
@pytest.mark.parametrize("lost", [0, 1, 100, 5000])
def test_a_set_up_goes_on_where_it_ended(tmp_path: Path, blocks: int, lost: int) -> None:
    """The active party is killed after some blocks, the last of them written in part."""
    with (first := in_folder(tmp_path)).holder:
        first.set_up(blocks)
    file = SetupFolder(tmp_path, "active", "shop").path
    size = file.stat().st_size
    with file.open("r+b") as opened:
        opened.truncate(max(size - lost, 200))
    with (second := in_folder(tmp_path)).holder:
        count = second.set_up()
        assert count >= 3 - blocks
        assert second.holder.progress == (5000, 5000)
        assert second.holder.name == first.holder.name
        exact(second)
    with (third := in_folder(tmp_path)).holder:
        assert third.set_up() == 0
        exact(third)


def test_a_kept_set_up_for_shards(tmp_path: Path) -> None:
    """The holder keeps what has passed it; shards get it again from there, and the rest from the passive party."""
    with (first := in_folder(tmp_path, in_shards=True)).holder:
        first.set_up(2)
        assert list(first.holder.kept_blocks()) == []
    second = in_folder(tmp_path, in_shards=True)
    with second.holder as holder:
        assert holder.accept(second.owner.offer(holder.open())) is None
        holder.add_zeros(second.owner.zeros())
        shards = [holder.held_rows(0, 2500), holder.held_rows(2500, 5000)]
        kept = list(holder.kept_blocks())
        assert [(block.first, block.rows) for block in kept] == [(0, 2048), (2048, 2048)]
        rest = list(second.owner.blocks())
        assert [block.first for block in rest] == [4096]
        for block in rest:
            holder.add(block)
        for shard, block in itertools.product(shards, [*kept, *rest]):
            shard.fill(block)
        level = draw_level(holder, 4, 2)
        holder.check(level)
        nodes, shares = holder.mask(shards[0].sums(level) + shards[1].sums(level))
        opened = open_sums(shares.x + second.owner.shares(nodes), holder.params)
        np.testing.assert_array_equal(opened, TABLE.sums(level)[shares.order])


def test_the_same_set_up_gives_the_same_bytes(tmp_path: Path) -> None:
    """What goes on repeats itself: otherwise two encryptions of one row would be there."""
    with (first := in_folder(tmp_path)).holder:
        first.set_up(1)
        wanted = [bytes(block.words) for block in first.owner.blocks()]
    with (second := in_folder(tmp_path)).holder:
        second.owner.offer(replace_rows(second.holder.open(), 0))
        assert [bytes(block.words) for block in second.owner.blocks()] == wanted


def replace_rows(opening, rows: int):
    return msgspec.structs.replace(opening, rows_kept=rows)


@pytest.mark.parametrize("change", ["bit", "weight", "order", "rows", "precision", "ring", "pairs"])
def test_whatever_changes_makes_new_secrets(tmp_path: Path, change: str) -> None:
    with (first := in_folder(tmp_path)).holder:
        first.set_up()
    left, weights = TABLE.left.copy(), TABLE.weights.copy()
    settings: dict[str, object] = {}
    if change == "bit":
        left[3, 4321] ^= True
    elif change == "weight":
        weights[2] -= 1
    elif change == "order":
        left, weights = left[::-1].copy(), weights[::-1].copy()
    elif change == "rows":
        left = left[:, :-1].copy()
    else:
        settings = {"precision": {"precision_bits": 2.0}, "ring": {"ring": "wide"}, "pairs": {"ring": "pairs"}}[change]
    table = Table(left, weights)
    with (second := in_folder(tmp_path, table, **settings)).holder:
        assert second.set_up() == -(-left.shape[1] // second.holder.params.ring.degree)
        assert second.holder.name != first.holder.name
        exact(second, table)


def test_kept_secrets_do_not_serve_other_parameters(tmp_path: Path) -> None:
    """An active party that names a kept set-up and asks for other widths: the difference would show the columns."""
    with (first := in_folder(tmp_path)).holder:
        opening = first.holder.open()
        first.owner.accept(first.holder.accept(first.owner.offer(opening)))
        name = first.owner.name
    asked = msgspec.structs.replace(opening, stored=name, rows_kept=0)
    owner = ColumnOwner("bank", TABLE.source(), tmp_path, threads=1)
    assert owner.offer(asked).stored
    for changed in (
        {"precision_bits": 1.0},
        {"ring": "wide"},
        {"ring": "pairs"},
        {"stored": bytes(32)},
        {"rows_kept": 5001},
    ):
        owner = ColumnOwner("bank", TABLE.source(), tmp_path, threads=1)
        assert not owner.offer(msgspec.structs.replace(asked, **changed)).stored


def test_damaged_files_are_named(tmp_path: Path) -> None:
    with (first := in_folder(tmp_path)).holder:
        first.set_up()
    folder = SetupFolder(tmp_path, "active", "shop")
    whole = folder.path.read_bytes()
    for place, what in ((3, "no set-up of this version"), (20, "truncated or damaged"), (5000, "is damaged")):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        folder.path.write_bytes(damaged)
        with pytest.raises(FormatError, match=rf"active keeping the lattice set-up with shop: .*{what}; remove it"):
            in_folder(tmp_path).holder.open()
    folder.path.write_bytes(SetupFolder(tmp_path, "passive", "bank").path.read_bytes())
    with pytest.raises(FormatError, match="of another kind"):
        in_folder(tmp_path).holder.open()
    with pytest.raises(LatticeError, match=r"found no folder .*, wanted an existing one as setup_dir"):
        in_folder(tmp_path / "none")


def test_a_seed_that_repeats_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (first := in_folder(tmp_path)).holder:
        first.set_up()
    seeds = iter(bytes([k]) * 32 for k in itertools.count(1))
    monkeypatch.setattr("vfxgb.lattice.holder.draw_seed", lambda: next(seeds))
    monkeypatch.setattr("vfxgb.lattice.owner.draw_seed", lambda: next(seeds))
    changed = Table.draw(5000, 6, 2)
    with (second := in_folder(tmp_path, changed)).holder:
        second.set_up()
    seeds = iter([bytes([1]) * 32, bytes(32), bytes([9]) * 32])  # the active party's seed again
    third = in_folder(tmp_path, Table.draw(5000, 6, 3))
    with third.holder, pytest.raises(LatticeError, match="a seed that an earlier set-up has used"):
        third.set_up()
    # Our own seed, sent back.
    seeds = iter([bytes([5]) * 32, bytes(32), bytes([5]) * 32])
    holder, owner = ColumnHolder("shop", 100), ColumnOwner("bank", Table.draw(100, 2, 1).source())
    opening = holder.open()
    offer = owner.offer(opening)
    with pytest.raises(LatticeError, match="our own seed"):
        holder.accept(offer)


def test_a_seed_that_was_not_committed_to_is_refused() -> None:
    both = parties(TABLE)
    seed = both.holder.accept(both.owner.offer(both.holder.open()))
    assert seed is not None
    for wrong in ({"seed": bytes(32)}, {"opening": bytes(32)}):
        with pytest.raises(LatticeError, match="with bank: the seed is not the one that was committed to"):
            both.owner.accept(msgspec.structs.replace(seed, **wrong))
    with pytest.raises(LatticeError, match="a seed of 31 bytes"):
        both.owner.accept(msgspec.structs.replace(seed, seed=bytes(31)))


def test_messages_out_of_order() -> None:
    both = parties(TABLE)
    holder, owner = both.holder, both.owner
    with pytest.raises(LatticeError, match="there is no opening yet"):
        owner.zeros()
    opening = holder.open()
    with pytest.raises(LatticeError, match="second opening"):
        holder.open()
    offer = owner.offer(opening)
    with pytest.raises(LatticeError, match="second opening"):
        owner.offer(opening)
    with pytest.raises(LatticeError, match="there are no secrets yet"):
        next(owner.blocks())
    with pytest.raises(LatticeError, match="no set-up yet"):
        holder.held_rows(0, 1)
    seed = holder.accept(offer)
    with pytest.raises(LatticeError, match="found an offer, wanted none"):
        holder.accept(offer)
    owner.accept(seed)
    with pytest.raises(LatticeError, match="found a seed, wanted none"):
        owner.accept(seed)
    zeros, block = owner.zeros(), next(owner.blocks())
    with pytest.raises(LatticeError, match="wanted the encryptions of zero first"):
        holder.add(block)
    with pytest.raises(LatticeError, match="found the columns of 0 rows, wanted those of all 5000"):
        holder.sum(Level.of([([0], [1])]))
    holder.add_zeros(zeros)
    holder.add(block)
    with pytest.raises(LatticeError, match="found columns of 2048 rows from 0 on, wanted at most 2048 from 2048 on"):
        holder.add(block)
    holder.close()


def test_wrong_lengths() -> None:
    both = parties(TABLE)
    holder, owner = both.holder, both.owner
    owner.accept(holder.accept(owner.offer(holder.open())))
    zeros = owner.zeros()
    with pytest.raises(LatticeError, match=r"with shop: found \d+ bytes of encryptions of zero, wanted \d+ for 6"):
        holder.add_zeros(msgspec.structs.replace(zeros, words=zeros.words[1:]))
    holder.add_zeros(zeros)
    block = next(owner.blocks())
    with pytest.raises(
        LatticeError, match=r"found \d+ bytes of columns of rows 0 on, wanted \d+ for 6 columns of 2048"
    ):
        holder.add(msgspec.structs.replace(block, words=block.words[1:]))
    for changed in ({"rows": 0}, {"rows": 2049}, {"first": 1}, {"rows": -1}):
        with pytest.raises(LatticeError, match="rows arrive once, in order, and within a block of 2048"):
            holder.add(msgspec.structs.replace(block, **changed))
    for each in owner.blocks():
        holder.add(each)
    nodes, _ = holder.sum(Level.of([([0], [1])]))
    for changed in ({"words": nodes.words[1:]}, {"nodes": 2}, {"nodes": -1}):
        with pytest.raises(LatticeError, match=r"level 0: found \d+ bytes of w for -?\d nodes, wanted -?\d+"):
            owner.shares(msgspec.structs.replace(nodes, **changed))
    with pytest.raises(LatticeError, match="level 1: wanted level 0; levels arrive once and in order"):
        owner.shares(msgspec.structs.replace(nodes, level=1))
    owner.shares(nodes)
    with pytest.raises(LatticeError, match="level 0: wanted level 1"):
        owner.shares(nodes)
    holder.close()


def test_noise_that_could_reach_the_sums_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(CapacityError, match=r"precision_bits that fits is \d"):
        ColumnHolder("shop", 10**8, HolderSettings(precision_bits=12))


def test_bad_openings_and_offers() -> None:
    opening = ColumnHolder("shop", 5000).open()
    for changed, text in (
        ({"rows": 4999}, "the active party has 4999 rows, wanted our 5000; align them"),
        ({"ring": "narrow"}, "found ring 'narrow'"),
        ({"commitment": b"x"}, "a commitment of 1 bytes"),
    ):
        with pytest.raises(LatticeError, match=text):
            ColumnOwner("bank", TABLE.source()).offer(msgspec.structs.replace(opening, **changed))
    with pytest.raises(CapacityError, match="largest precision_bits that fits"):
        ColumnOwner("bank", TABLE.source()).offer(msgspec.structs.replace(opening, precision_bits=60.0))
    offer = ColumnOwner("bank", TABLE.source()).offer(opening)
    for changed, text in (
        ({"columns": 0}, f"found 0 columns, wanted 1 to {MAX_COLUMNS}"),
        ({"seed": b"x"}, "a seed of 1 bytes"),
        ({"stored": True}, "goes on with a set-up of 6 columns that we lack"),
    ):
        holder = ColumnHolder("shop", 5000)
        holder.open()
        with pytest.raises(LatticeError, match=text):
            holder.accept(msgspec.structs.replace(offer, **changed))
    with pytest.raises(LatticeError, match="keep_masks without setup_dir"):
        ColumnHolder("shop", 10, HolderSettings(keep_masks=True))
    with pytest.raises(FrameError, match="lattice-offer"):
        CATALOGUE.decode("lattice-offer", encode(opening), "shop")


def test_bad_columns() -> None:
    left = np.zeros((2, 100), dtype=bool)
    left[1, :50] = True
    for weights, text in (
        ([8, 33], "column 1 has weight 33, wanted 1 to 32"),
        ([0, 8], "column 0 has weight 0"),
        ([32, 9], "column 1 has weight 9 and 50 of 100 rows on the left"),
    ):
        with pytest.raises(LatticeError, match=text):
            ColumnOwner("bank", BitColumns(left, weights))
    with pytest.raises(LatticeError, match="counts of left rows"):
        ColumnOwner("bank", BitColumns(left, [8]))
    with pytest.raises(LatticeError, match="found 0 columns"):
        ColumnOwner("bank", BitColumns(left[:0], []))
    with pytest.raises(LatticeError, match="1 dimensions"):
        BitColumns(left[0], [8])


def test_left_bits_of_any_rows() -> None:
    columns = TABLE.source()
    for first, stop in ((0, 5000), (8, 16), (3, 11), (4999, 5000), (5, 5), (2048, 4096), (16, 21)):
        wanted = np.packbits(TABLE.left[:, first:stop], axis=1, bitorder="little")
        np.testing.assert_array_equal(columns.left_bits(first, stop), wanted)


@pytest.mark.parametrize("ring", [NARROW, WIDE])
def test_public_elements_follow_from_the_name(ring) -> None:
    name = bytes(range(32))
    elements = public_elements(name, 3, 5, ring)
    np.testing.assert_array_equal(elements[1], public_element(name, 4, ring))
    assert public_elements(name, 3, 3, ring).shape == (0, ring.degree)
    assert not np.any(elements & np.uint64((1 << (64 - ring.log_q)) - 1))
    others = [public_element(name, ZERO_BLOCK, ring), public_element(bytes(32), 3, ring), elements[1]]
    assert all(np.count_nonzero(other == elements[0]) == 0 for other in others)
    # Bits are fair: within six deviations.
    ones = np.unpackbits(elements.view(np.uint8)).sum()
    count = elements.size * ring.log_q
    assert abs(int(ones) - count / 2) < 3 * np.sqrt(count)


def test_names_differ_by_everything_that_was_agreed() -> None:
    params = choose_params(5000)
    changed = [
        replace(params, **{each: getattr(params, each) + 1})
        for each in LatticeParams.__dataclass_fields__
        if each != "ring"
    ]
    names = {setup_name(p, 6, b"a" * 32, b"b" * 32) for p in [params, replace(params, ring=WIDE), *changed]}
    names |= {setup_name(params, 7, b"a" * 32, b"b" * 32), setup_name(params, 6, b"b" * 32, b"a" * 32)}
    assert len(names) == 4 + len(changed)
    assert agreed_bytes(params, 6) != agreed_bytes(params, 7)


def test_secrets_do_not_show() -> None:
    both = parties(TABLE)
    assert "secret" not in repr(OwnerHead(bytes(32), b"secret" + bytes(26), bytes(32), b""))
    assert repr(both.owner) == "ColumnOwner(columns=6, rows=5000, level=0)"
    assert repr(both.holder) == "ColumnHolder(peer='shop', rows=0 of 5000, level=0)"
