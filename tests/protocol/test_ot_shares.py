"""`ot_shares` beyond the conformance suite: its twin in Python, what parties see and hold, orders, stored set-ups."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

import ot_twin as twin
from ot_runs import QUICK, Secrets, messages_to, seed_randomness, tables, train, watch
from vfxgb import _native
from vfxgb.audit.view import AttackerView
from vfxgb.data.table import Table
from vfxgb.errors import CapacityError, FormatError, ProtocolParameterError, TransferError
from vfxgb.model.pooled import PooledModel
from vfxgb.ot import HolderSession, OwnerSession, Place, modp_group
from vfxgb.params import TrainParams
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.ot_shares import order as orders
from vfxgb.protocols.ot_shares import shares
from vfxgb.protocols.ot_shares.messages import OtGradients, OtOffer, OtOrder, OtShares, OtStart, OtSums
from vfxgb.protocols.ot_shares.params import read_size
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.session import fit

G, H = 38, 37  # bits of a pair: sums over 40 rows of up to 2^31 each


def same_model(one: Any, other: Any) -> bool:
    trees = [PooledModel(result.active_share, result.passive_shares) for result in (one, other)]
    fields = ("feature", "threshold", "default_left", "value", "gain", "cover")
    return all(np.array_equal(getattr(trees[0], name), getattr(trees[1], name), equal_nan=True) for name in fields)


class Twin:
    """A recorded run worked out again from the secrets of both sessions."""

    def __init__(self, result: Any, seen: Secrets) -> None:
        self.seen = seen
        record = result.transcript.records
        self.bank = AttackerView(record["bank"], result.transcript.catalogue, "ot_shares", None)
        self.shop = AttackerView(record["shop"], result.transcript.catalogue, "ot_shares", None)
        (start,) = self.bank.messages("shop", OtStart.TAG, OtStart)
        (offer,) = self.bank.messages("shop", OtOffer.TAG, OtOffer)
        self.run = start.run
        self.n_bins = np.frombuffer(offer.n_bins, dtype=np.int32).tolist()
        self.missing = [bool(one) for one in offer.missing]
        self.delta = int.from_bytes(seen.delta, "little")
        blocks = [place for place in seen.roots if place.domain == _native.TREES_DOMAIN]
        self.holes = np.concatenate([seen.holes[place] for place in blocks], axis=1)
        self.leaves: list[list[list[int]]] = [[] for _ in self.n_bins]
        self.hash: list[twin.Hash] = []
        for place in blocks:
            hash_ = twin.Hash(seen.session, place.domain, place.block)
            self.hash += [hash_] * seen.roots[place].shape[1]
            for slot, count in enumerate(seen.leaves[place]):
                for root in seen.roots[place][slot]:
                    number = int.from_bytes(root.tobytes(), "little")
                    self.leaves[slot].append(twin.levels_of(hash_, self.delta, count, number)[-1])

    def masks(self, slot: int, row: int, counter: int) -> list[twin.Pair]:
        return twin.masks_of(self.hash[row], self.leaves[slot][row], twin.tree_tweak(counter, self.run))

    def tree(self, round_index: int, tree: int, counter: int, slots: list[int]) -> None:
        """Check every message about one tree."""
        pairs = self.bank.note("pairs", round_index, tree)
        assert pairs is not None
        roots = [one for one in self.shop.nodes("bank") if (one.round, one.tree, one.node) == (round_index, tree, 0)]
        rows = roots[0].rows.tolist()
        masks = {(slot, row): self.masks(slot, row, counter) for slot in slots for row in rows}
        value = {row: tuple(int(v) % twin.HALF for v in pairs[row]) for row in rows}
        d = {key: twin.plus(value[key[1]], twin.total(some)) for key, some in masks.items()}
        self._gradients(round_index, tree, slots, rows, d)
        held = {key: twin.held_share(some, int(self.holes[key]), d[key]) for key, some in masks.items()}
        place = Place(_native.TREES_DOMAIN + 1, counter)
        hash_ = twin.Hash(self.seen.session, place.domain, place.block)
        order = self.seen.holes[place][0].tolist()
        trees = [
            twin.levels_of(hash_, self.delta, len(order), int.from_bytes(root.tobytes(), "little"))[-1]
            for root in self.seen.roots[place][0]
        ]
        built = [one for one in self.shop.nodes("bank") if (one.round, one.tree) == (round_index, tree) and one.built]
        for depth in sorted({one.depth for one in built}):
            level = [one for one in built if one.depth == depth]
            first = sum(one.depth < depth for one in built)
            self._level(round_index, tree, depth, slots, level, masks, held, order, trees, hash_, first)

    def _gradients(self, round_index: int, tree: int, slots: list[int], rows: list[int], d: Any) -> None:
        sent = [
            one
            for one in self.shop.messages("bank", OtGradients.TAG, OtGradients)
            if (one.round, one.tree) == (round_index, tree)
        ]
        assert sum(one.count for one in sent) == len(rows)
        for one in sent:
            some = rows[one.first : one.first + one.count]
            assert bytes(one.pairs) == twin.pack([d[slot, row] for slot in slots for row in some], G, H)

    def _left(self, slots: list[int], rows: list[int], of: Any) -> list[twin.Pair]:
        left = []
        for slot in slots:
            count = self.n_bins[slot] + self.missing[slot]
            cells = [twin.total([of[slot, row][b] for row in rows]) for b in range(count)]
            left += twin.left_of(cells, self.n_bins[slot], self.missing[slot])
        return left

    def _level(
        self,
        round_index: int,
        tree: int,
        depth: int,
        slots: list[int],
        level: Any,
        masks: Any,
        held: Any,
        order: list[int],
        trees: list[list[int]],
        hash_: twin.Hash,
        first: int,
    ) -> None:
        sent, answered, opened = [], [], []
        for k, node in enumerate(level):
            x, y = (self._left(slots, node.rows.tolist(), of) for of in (masks, held))
            a, b = twin.translation_masks(hash_, trees, first + k)
            masked = [twin.plus(one, mask) for one, mask in zip(x, a, strict=True)]
            # The passive party's D: the mask it lacks is in both terms.
            shift = [twin.minus(b[i], a[order[i]]) for i in range(len(order))]
            z = [twin.minus(y[j], twin.plus(masked[j], shift[i])) for i, j in enumerate(order)]
            sent, answered = sent + masked, answered + z
            opened.append([twin.plus(one, mask) for one, mask in zip(z, b, strict=True)])
        (message,) = [
            one
            for one in self.shop.messages("bank", OtShares.TAG, OtShares)
            if (one.round, one.depth) == (round_index, depth)
        ]
        (mine,) = [one for one in message.trees if one.tree == tree]
        assert [bytes(one) for one in mine.layers] == [twin.pack(sent, G, H)]
        (answer,) = [
            one
            for one in self.bank.messages("shop", OtSums.TAG, OtSums)
            if (one.round, one.depth) == (round_index, depth)
        ]
        theirs = answer.trees[[one.tree for one in message.trees].index(tree)]
        assert bytes(theirs.sums) == twin.pack(answered, G, H)
        wanted = [[[signed(g, G), h % 2**H] for g, h in node] for node in opened]
        note = self.bank.note(f"left-sums:{depth}:shop", round_index, tree)
        assert note is not None
        assert note.tolist() == wanted


def signed(number: int, bits: int) -> int:
    number %= 2**bits
    return number - 2**bits if number >> (bits - 1) else number


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "multi:softprob", "num_class": 3, "subsample": 0.7, "max_depth": 2},
        {"colsample_bytree": 0.5, "n_estimators": 3, "max_depth": 2, "random_state": 3},
    ],
    ids=["binary", "multiclass of a sample", "some columns"],
)
def test_every_message_is_what_its_twin_says(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients, shares and answers bit by bit, and from them every sum, worked out by the definitions alone."""
    seen = watch(monkeypatch)
    data = tables()
    y = np.digitize(data[1], (-0.7, 0.7)).astype(np.float64) if "num_class" in settings else None
    result = train(data=data, y=y, record=True, **settings)
    again = Twin(result, seen)
    outputs = settings.get("num_class", 1)
    for message in again.bank.messages("shop", OtOrder.TAG, OtOrder):
        for tree, order in enumerate(message.trees):
            bits = np.unpackbits(np.frombuffer(order.slots, dtype=np.uint8), bitorder="little")
            slots = np.flatnonzero(bits).tolist() if len(order.slots) else list(range(len(again.n_bins)))
            if slots:
                again.tree(message.round, tree, message.round * outputs + tree, slots)
    assert same_model(result, train({"precision_bits": 31}, "plain", data, y, **settings))


def test_what_the_twin_opens_are_the_plain_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sums as `plain` shows, whatever the order."""
    notes = []
    for protocol, own in (("ot_shares", None), ("plain", {"precision_bits": 31})):
        record = train(own, protocol, record=True).transcript.records["bank"]
        notes.append({(n.name, n.round): np.sort(n.array, axis=1) for n in record.notes if n.name.startswith("left-")})
    assert notes[0].keys() == notes[1].keys()
    assert all(np.array_equal(array, notes[1][key]) for key, array in notes[0].items())


def sessions(checked: bool = False) -> tuple[HolderSession, OwnerSession]:
    group = modp_group(768, insecure=True)
    holder = HolderSession("bank", group, 1, checked)
    owner = OwnerSession("shop", holder.offer, group, 1, checked)
    holder.accept(owner.reply)
    return holder, owner


@pytest.mark.parametrize("direct", [0, 512], ids=["three layers", "one layer"])
def test_orders_of_any_size(direct: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "DIRECT_PLACES", direct)
    holder, owner = sessions()
    rng = np.random.default_rng(1)
    for counter, n in enumerate((0, 1, 2, 3, 5, 16, 17, 90)):
        secret = rng.permutation(n)
        own = orders.HolderOrder(holder, counter, secret, 1)
        other = orders.OwnerOrder(owner, counter, n, [memoryview(one) for one in own.requests], 1)
        own.finish([memoryview(one) for one in other.answers])
        for m in (2, 1):
            x, y = rng.integers(0, 2**64, (2, m, n, 2), dtype=np.uint64)
            sent, opening = other.cover(x.copy())
            answer = own.translate(y, sent)
            assert np.array_equal(answer + opening, (y - x)[:, secret])
            # Neither what is sent nor what is answered is the plain thing.
            assert not sent or not np.isin(sent[0], x).any()
            assert not np.isin(answer, y - x).any()


def test_many_candidates_go_through_three_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "DIRECT_PLACES", 4)
    result = train(record=True)
    assert same_model(result, train({"precision_bits": 31}, "plain"))
    view = AttackerView(result.transcript.records["bank"], result.transcript.catalogue, "ot_shares", None)
    assert {len(tree.layers) for one in view.messages("shop", OtShares.TAG, OtShares) for tree in one.trees} == {3}


def test_features_without_cuts_have_no_trees() -> None:
    parts, score = tables(missing=0.0)
    flat = Table.read(np.column_stack([np.ones(40), score + 0.5, np.ones(40)]), names=["a", "b", "c"], party="shop")
    result = train(data=({**parts, "shop": flat}, score), record=True)
    assert same_model(result, train({"precision_bits": 31}, "plain", ({**parts, "shop": flat}, score)))
    entries = {entry.message: entry.amount for entry in result.ledger.learned_by("bank")}
    assert (entries["ready"], entries["ot-offer"]) == (3, 1)
    none = {**parts, "shop": Table.read(np.ones((40, 2)), names=["a", "b"], party="shop")}
    alone = train(data=(none, score))
    assert {entry.message for entry in alone.ledger.learned_by("bank")}.isdisjoint({"ot-request"})


def masked_bytes(result: Any, slot: int | None = None) -> np.ndarray:
    """The pairs of all OtGradients as uint64[messages' rows and slots, 2]."""
    view = AttackerView(result.transcript.records["shop"], result.transcript.catalogue, "ot_shares", None)
    sent = list(view.messages("bank", OtGradients.TAG, OtGradients))
    codec = shares.pair_codec(make_protocol_params(protocol_by_name("ot_shares"), {}), view.setup.n_train, 1)
    pairs = [codec.unpack(one.pairs, (one.n_slots, one.count), "test") for one in sent]
    if slot is not None:
        return np.concatenate([one[slot] for one in pairs])
    return np.concatenate([one.reshape(-1, 2) for one in pairs])


def test_masked_gradients_look_random_whatever_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A passive party's view: every byte uniform, the same for rows of either label, no value twice."""
    seed_randomness(monkeypatch, 1)
    rows = 1200
    data = tables(rows)
    result = train({"chunk_rows": 1000, "setup_rows": 500}, data=data, record=True, n_estimators=2, max_depth=1)
    view = AttackerView(result.transcript.records["shop"], result.transcript.catalogue, "ot_shares", None)
    wire = b"".join(bytes(one.pairs) for one in view.messages("bank", OtGradients.TAG, OtGradients))
    counts = np.bincount(np.frombuffer(wire, dtype=np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-4
    assert len(np.unique(masked_bytes(result)[:, 0])) == 2 * 2 * rows
    labels = np.tile(data[1] > 0, 2)
    for slot in (0, 1):
        pairs = masked_bytes(result, slot)
        for column, shift in ((0, 35), (0, 0), (1, 34), (1, 0)):
            byte = (pairs[:, column] >> np.uint64(shift)).astype(np.int64) & 255
            table = np.stack([np.bincount(byte[labels == one] >> 3, minlength=32) for one in (False, True)])
            assert stats.chi2_contingency(table).pvalue > 1e-4


def test_other_labels_change_the_masked_gradients_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs with one seed of everything: up to its first answer the passive party sees the same, but for d."""
    data = tables()
    views, notes = [], []
    for y in ((data[1] > 0).astype(np.float64), (data[1] > 0.5).astype(np.float64)):
        seed_randomness(monkeypatch, 2)
        result = train(data=data, y=y, record=True, n_estimators=1, max_depth=1)
        received = messages_to(
            result, "shop", "bank", lambda tag: tag not in ("choose", "end-round", "finish", "sealed")
        )
        views.append((received, masked_bytes(result)))
        record = result.transcript.records["bank"]
        notes.append(next(one.array for one in record.notes if one.name == "pairs"))
    (one, d_one), (other, d_other) = views
    assert [tag for tag, _ in one] == [tag for tag, _ in other]
    differing = {tag for (tag, a), (_, b) in zip(one, other, strict=True) if a != b}
    assert differing == {OtGradients.TAG}
    # Equal masks, so what differs is what the pairs differ by: the reason that no mask may be used twice.
    apart = (notes[0] - notes[1]).astype(np.uint64)
    chunks = [apart[first : first + QUICK["chunk_rows"]] for first in range(0, 40, QUICK["chunk_rows"])]
    wanted = np.concatenate([chunk for some in chunks for chunk in (some, some)])
    assert np.array_equal(
        (d_one - d_other) % np.array([2**G, 2**H], np.uint64), wanted % np.array([2**G, 2**H], np.uint64)
    )


def test_what_a_passive_party_holds_does_not_give_its_own_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leaf of a row's own bin is nowhere in its state, and its mask is unrelated to those it can make."""
    seed_randomness(monkeypatch, 3)
    seen = watch(monkeypatch)
    result = train({"setup_rows": 400}, data=tables(400), record=True, n_estimators=1, max_depth=1)
    again = Twin(result, seen)
    held = b"".join(copaths.tobytes() for copaths in seen.copaths.values())
    received = b"".join(payload for _, payload in messages_to(result, "shop", "bank", lambda _: True))
    assert seen.delta not in held + received
    blocks = {held[i : i + 16] for i in range(0, len(held), 16)}
    apart = []
    for slot in range(2):
        for row in range(400):
            hole = int(again.holes[slot, row])
            assert again.leaves[slot][row][hole].to_bytes(16, "little") not in blocks
            masks = again.masks(slot, row, 0)
            known = twin.total([mask for b, mask in enumerate(masks) if b != hole])
            apart.append(twin.minus(masks[hole], known))
    data = np.array(apart, dtype=np.uint64).view(np.uint8)
    assert stats.chisquare(np.bincount(data.ravel(), minlength=256)).pvalue > 1e-4


def test_one_state_of_the_passive_party_goes_with_any_mask() -> None:
    """Trees of two leaves: one and the same state of the passive party goes with every secret of the active one."""
    leaves, holes = np.array([2], np.int32), np.array([[0] * 8], np.uint16)
    known = bytes(range(128))
    held = _native.HeldTrees(bytes(32), leaves, holes, 8)
    held.fill(0, known)
    rows, slots = np.arange(8, dtype=np.int32), np.zeros(1, np.int32)
    nothing = np.zeros((8, 2), np.int64)
    seen = []
    for delta in (b"\1" * 16, b"\2" * 16):
        # The passive party knows leaf 1 = root ^ delta, so roots follow from delta.
        roots = bytes(a ^ b for a, b in zip(known, delta * 8, strict=True))
        owned = _native.OwnedTrees(bytes(32), delta, leaves, 8, 8)
        owned.fill(0, roots)
        d, sums = owned.cover(5, 1, rows, slots, nothing)
        shares = held.row_sums(5, 1, rows, slots, d)
        assert np.array_equal(shares, sums)  # sums of zeros: it fits
        seen.append(d)
    assert (seen[0] != seen[1]).all()


@pytest.mark.parametrize(
    "own", [{"keep_leaves": True, "memory_limit": "1MB"}, {"checked": True}, {"precision_bits": None}]
)
def test_settings_do_not_change_the_model(own: dict[str, Any]) -> None:
    assert same_model(train(own), train({"precision_bits": own.get("precision_bits", 31)}, "plain"))


@pytest.mark.parametrize(("path", "keeps"), [("vaes", False), ("aesni", True), ("portable", True)])
def test_leaves_are_kept_where_that_pays(path: str, keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "aes_path", lambda: path)
    params = make_protocol_params(protocol_by_name("ot_shares"), {"memory_limit": "10kB"})
    slots = shares.Slots(np.array([4, 2], np.int32), np.array([True, False]))
    for owner, keys in ((True, 2), (False, 4)):
        rows = 10_000 // (16 * (keys + 7))
        assert shares.keeps_leaves(params, [slots], rows, owner, "bank") == keeps
        assert not shares.keeps_leaves(params, [slots], rows + 1, owner, "bank")
        with pytest.raises(CapacityError, match="bank setting up ot_shares: keys take"):
            shares.keeps_leaves(params, [slots], 10_000 // (16 * keys) + 1, owner, "bank")


def test_a_memory_limit_is_kept() -> None:
    with pytest.raises(CapacityError, match=r"keys take 4,480 bytes, wanted at most memory_limit=3kB"):
        train({"memory_limit": "3kB"})
    with pytest.raises(CapacityError, match="give up keep_leaves"):
        train({"memory_limit": "5kB", "keep_leaves": True})


@pytest.mark.parametrize(
    ("text", "size"), [("1GB", 10**9), ("512 MiB", 2**29), ("1.5k", 1500), ("1000", 1000), ("2TiB", 2**41)]
)
def test_sizes(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"memory_limit": "much"}, "memory_limit='much'"),
        ({"memory_limit": 0}, "memory_limit"),
        ({"group_bits": 768}, "is no protection"),
        ({"group_bits": 100}, "group_bits"),
        ({"keep_leaves": True}, "needs a memory_limit"),
        ({"chunk_rows": 0}, "chunk_rows"),
        ({"setup_rows": 0}, "setup_rows"),
        ({"precision_bits": 41}, "precision_bits"),
    ],
)
def test_parameters_that_are_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ProtocolParameterError, match=match):
        make_protocol_params(protocol_by_name("ot_shares"), given)


def test_the_ledger_names_what_is_seen() -> None:
    result = train()
    amounts = {(entry.receiver, entry.message): entry.amount for entry in result.ledger.entries}
    assert amounts["bank", "ot-offer"] == 2
    assert amounts["shop", "ot-gradients"] == 2 * 2 * 40
    assert amounts["bank", "ot-sums"] > 0
    text = result.ledger.text()
    assert "in a secret order, how many bins it has" in text
    assert "masked gradients: nothing" in text


def test_progress_of_the_set_up() -> None:
    told: list[tuple[str, int, int]] = []

    class Watch(TrainingCallback):
        def progress(self, state: Any, step: str, done: int, total: int) -> None:
            told.append((step, done, total))

    parts, score = tables()
    params = TrainParams(objective="reg:squarederror", n_estimators=2, max_depth=2, n_jobs=1)
    fit(parts, "bank", score, None, 40, params, protocol="ot_shares", protocol_params=QUICK, callbacks=[Watch()])
    assert told == [("setting up ot_shares", done, 3) for done in (1, 2, 3)]


# Stored set-ups.


def stored(folder: Path, **more: Any) -> Any:
    return train({"setup_dir": str(folder)}, **more)


def requests(result: Any) -> int:
    return sum(entry.messages for entry in result.ledger.entries if entry.message == "ot-request")


def test_a_stored_set_up_is_used_again(tmp_path: Path) -> None:
    first, second = stored(tmp_path), stored(tmp_path)
    assert (requests(first), requests(second)) == (3, 0)
    assert same_model(first, second)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["bank.shop.vfxgb-ot", "shop.bank.vfxgb-ot", "shop.bank.vfxgb-ot-runs"]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    # Other blocks than those of the set-up do not matter, nor do other labels.
    y = np.random.default_rng(1).integers(0, 2, 40).astype(np.float64)
    third = train({"setup_dir": str(tmp_path), "setup_rows": 7}, y=y)
    assert requests(third) == 0
    assert same_model(third, train({"precision_bits": 31}, "plain", y=y))


@pytest.mark.parametrize("name", ["bank.shop.vfxgb-ot", "shop.bank.vfxgb-ot"])
def test_a_lost_file_means_a_new_set_up(name: str, tmp_path: Path) -> None:
    stored(tmp_path)
    (tmp_path / name).unlink()
    assert requests(stored(tmp_path)) == 3
    assert requests(stored(tmp_path)) == 0


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
    runs = msgspec.json.decode((tmp_path / "shop.bank.vfxgb-ot-runs").read_bytes(), type=list[int])
    assert len(runs) == 1
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
    (tmp_path / "shop.bank.vfxgb-ot-runs").write_bytes(b"{}")
    with pytest.raises(FormatError, match="is malformed"):
        stored(tmp_path)
