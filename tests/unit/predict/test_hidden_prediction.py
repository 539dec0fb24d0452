"""Hidden prediction: the same result, what travels whatever rows do, what is asked of a party, and what is refused."""

import re
from typing import Any

import msgspec
import numpy as np
import pytest

from hidden_runs import Seen, hidden_margins, hidden_session
from prediction_runs import DEPTH, N, data, naive_margins, over_channels, trained
from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.errors import MessageError, PeerError, ShareMismatchError, TransferError, VfxgbError
from vfxgb.model.paths import paths_in_trees
from vfxgb.model.shares import SplitPaths
from vfxgb.ot.silent import SilentShape
from vfxgb.params import TrainParams
from vfxgb.predict.hidden_bits import HiddenSplits
from vfxgb.predict.hidden_line import HiddenLine, HiddenLines
from vfxgb.predict.hidden_shape import HiddenShape
from vfxgb.predict.messages import HiddenGroups
from vfxgb.predict.paths import most_comparisons
from vfxgb.predict.sides import lead_prediction
from vfxgb.predict.split_evaluator import split_tester
from vfxgb.routing import RoutingSettings
from vfxgb.routing.messages import HiddenRoute, HiddenRouted, SilentRound, TransferStock
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array


@pytest.fixture(scope="module")
def learned() -> Any:
    return trained()


@pytest.fixture(scope="module")
def both_ways() -> Any:
    return trained("probabilistic")


def test_the_naive_walk_the_open_prediction_and_the_hidden_one(learned) -> None:
    result, tables, X = learned
    hidden, _ = hidden_margins(result, tables)
    assert np.array_equal(hidden[:, 0], naive_margins(result, X, 5))
    assert np.array_equal(hidden, over_channels(result, tables)[0])


def test_rows_that_go_both_ways(both_ways) -> None:
    result, tables, _ = both_ways
    hidden, _ = hidden_margins(result, tables)
    assert np.array_equal(hidden, over_channels(result, tables)[0])


def test_small_parts_and_several_predictions_of_one_session(learned, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few rows, several on their way at once, some from stock; leaves, first rounds and values, too."""
    monkeypatch.setattr("vfxgb.predict.hidden_line.PART_TRANSFERS", 200)
    result, tables, _ = learned

    def lead(channels: dict[str, Channel], lines: HiddenLines) -> list[Any]:
        asked = [{}, {"what": "leaves"}, {"n_rounds": 2}, {"what": "value"}, {"n_rounds": 0}]
        return [lead_prediction(result.active_share, tables["bank"], channels, hidden=lines, **how) for how in asked]

    for stock_rows in (0, 20):
        found, _ = hidden_session(result, tables, lead, times=5, stock_rows=stock_rows)
        wanted = [{}, {"what": "leaves"}, {"n_rounds": 2}, {"what": "value"}, {"n_rounds": 0}]
        for one, how in zip(found, wanted, strict=True):
            assert np.array_equal(one, over_channels(result, tables, **how)[0])


def test_silent_transfers(learned) -> None:
    result, tables, _ = learned
    found, _ = hidden_margins(result, tables, settings=RoutingSettings("silent", threads=1))
    assert np.array_equal(found, over_channels(result, tables)[0])


def test_silent_transfers_are_made_again_when_they_run_out(learned, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of a few hundred transfers, several of them for a block; the next prediction goes on with what is left."""
    small = SilentShape(trees=4, depth=8, secret=256, insecure=True)
    monkeypatch.setattr("vfxgb.ot.silent.SilentShape", lambda: small)
    monkeypatch.setattr("vfxgb.predict.hidden_line.PART_TRANSFERS", 200)
    result, tables, _ = learned
    seen: Seen = []

    def lead(channels: dict[str, Channel], lines: HiddenLines) -> list[Any]:
        return [lead_prediction(result.active_share, tables["bank"], channels, hidden=lines) for _ in range(2)]

    settings = RoutingSettings("silent", threads=1)
    found, _ = hidden_session(result, tables, lead, times=2, stock_rows=9, settings=settings, seen=seen)
    wanted = over_channels(result, tables)[0]
    assert all(np.array_equal(one, wanted) for one in found)
    assert sum(isinstance(message, SilentRound) for _, _, message in seen) > 4
    assert sum(isinstance(message, TransferStock) for _, _, message in seen) == 2


@pytest.mark.parametrize("ahead", [1 << 20, 700, 0])
def test_transfers_of_a_level_travel_while_answers_of_the_one_before_are_awaited(
    learned, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """Questions of later levels bring none of their own, as far as they were sent ahead; the result is the same."""
    result, tables, _ = learned
    monkeypatch.setattr("vfxgb.predict.hidden_line.PART_TRANSFERS", 300)
    monkeypatch.setattr("vfxgb.predict.hidden_line.AHEAD_TRANSFERS", ahead)
    events: list[tuple[str, int]] = []
    send, read = Channel.send, HiddenLine.read

    def noted_send(self: Channel, message: Any) -> None:
        if self.peer == "shop" and isinstance(message, (HiddenRoute, TransferStock)):
            own = isinstance(message, HiddenRoute)
            count = len(message.transfers) if own else message.count
            events.append(("route" if own else "stock", count))
        send(self, message)

    def noted_read(self: HiddenLine, *given: Any) -> Any:
        if self.channel.peer == "shop":
            events.append(("read", 0))
        return read(self, *given)

    monkeypatch.setattr(Channel, "send", noted_send)
    monkeypatch.setattr(HiddenLine, "read", noted_read)
    found, _ = hidden_margins(result, tables)
    assert np.array_equal(found, over_channels(result, tables)[0])
    shape = HiddenShape.of(result.passive_shares["shop"].paths, 5)
    size = max(1, 300 // shape.most_transfers)
    wanted: list[tuple[str, int]] = [("stock", 128)]  # that every session begins with
    sent: list[int] = []
    for place, level in enumerate(shape.levels):
        parts = [min(size, N - first) for first in range(0, N, size)]
        wanted += [("route", 0 if number < len(sent) else -1) for number in range(len(parts))]
        sent, left = [], ahead
        if place + 1 < len(shape.levels):
            for rows in parts:
                left -= rows * shape.levels[place + 1].level.transfers
                if left < 0:
                    break
                sent.append(rows * shape.levels[place + 1].level.transfers)
        wanted += [*(("stock", count) for count in sent), ("read", 0)]
        assert level.level.transfers * size <= 300
    assert len(shape.levels) > 2
    assert [(what, -1 if what == "route" and count else count) for what, count in events] == wanted


def test_more_transfers_made_ahead_than_a_party_holds(learned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfxgb.predict.passive.MAX_STOCK", 200)
    result, tables, _ = learned
    with pytest.raises(VfxgbError, match=r"found \d+ transfers made ahead beside \d+, wanted at most 200 in all"):
        hidden_margins(result, tables)


def test_one_message_a_level_each_way(learned) -> None:
    """All trees of a level in one question; no more round trips than levels."""
    result, tables, _ = learned
    seen: Seen = []
    hidden_margins(result, tables, seen=seen)
    for party in ("shop", "mart"):
        depths = [message.depth for who, _, message in seen if who == party and isinstance(message, HiddenRoute)]
        assert depths == sorted(set(depths))
        assert len(depths) <= DEPTH


def test_few_rows_travel_with_transfers_from_stock(learned) -> None:
    """Questions about single rows bring no transfers of their own; the stock is made again when it runs low."""
    result, tables, _ = learned
    single = {party: table.take(np.arange(1)) for party, table in tables.items()}
    seen: Seen = []

    def lead(channels: dict[str, Channel], lines: HiddenLines) -> list[Any]:
        return [lead_prediction(result.active_share, single["bank"], channels, hidden=lines) for _ in range(50)]

    found, _ = hidden_session(result, single, lead, times=50, stock_rows=20, seen=seen)
    wanted = over_channels(result, tables)[0][:1]
    assert all(np.array_equal(one, wanted) for one in found)
    routes = [message for _, _, message in seen if isinstance(message, HiddenRoute)]
    assert all(len(route.transfers) == 0 for route in routes)
    stocks = [who for who, _, message in seen if isinstance(message, TransferStock)]
    # Fifty rows over a stock of twenty that is made again below a quarter, after fifteen or sixteen rows.
    assert stocks.count("shop") == stocks.count("mart") == 1 + 3


def sizes(seen: Seen, party: str) -> list[tuple[str, int]]:
    return [(type(message).__name__, len(msgspec.msgpack.encode(message))) for who, _, message in seen if who == party]


def test_what_passive_parties_receive_does_not_depend_on_where_rows_go(learned) -> None:
    """The bank's columns in another order send rows other ways: same messages, same sizes, choices like coin tosses."""
    result, tables, _ = learned
    bank = tables["bank"]
    shuffled = np.random.default_rng(5).permutation(N)
    moved = Table.read({name: bank.column(name, 0, N)[shuffled] for name in bank.names}, party="bank")
    views: list[Seen] = [[], []]
    first, _ = hidden_margins(result, tables, seen=views[0])
    other, _ = hidden_margins(result, {**tables, "bank": moved}, seen=views[1])
    assert not np.array_equal(first, other)
    for party in ("shop", "mart"):
        assert sizes(views[0], party) == sizes(views[1], party)
        for seen in views:
            corrections = b"".join(
                bytes(m.corrections) for who, _, m in seen if who == party and isinstance(m, HiddenRoute)
            )
            lines = np.frombuffer(corrections, np.uint8).reshape(-1, (N + 7) // 8)
            bits = np.unpackbits(lines, axis=1, bitorder="little", count=N)
            assert abs(int(bits.sum()) - bits.size / 2) < 5 * np.sqrt(bits.size) / 2


def test_shapes_of_both_parties_agree_and_leave_out_later_trees(learned) -> None:
    result, _, _ = learned
    share = result.active_share
    for party, passive in result.passive_shares.items():
        own = paths_in_trees(share.trees, share.parties.index(party), share.missing_strategy)
        for name in ("tree", "depth", "above"):
            assert np.array_equal(getattr(own, name), getattr(passive.paths, name))
        for n_trees in range(6):
            mine, theirs = HiddenShape.of(own, n_trees), HiddenShape.of(passive.paths, n_trees)
            assert np.array_equal(mine.table(), theirs.table())
            assert (mine.table()[:, 1] < n_trees).all()
        # One bit of each group at most: as many as a path can have, and never more than there are splits.
        assert most_comparisons(passive.paths) <= mine.comparisons <= len(passive.records)


def test_splits_below_different_sides_share_an_entry() -> None:
    """A tree of one party alone: a row stands before one split of each level, and one entry is enough."""

    def paths(above: list[int], depth: list[int], strategy: str = "learned") -> SplitPaths:
        return SplitPaths(strategy, *(np.array(x, dtype=np.int32) for x in ([0] * len(above), depth, above)))

    own = paths([-1, 0, 1, 2, 3, 4, 5], [0, 1, 1, 2, 2, 2, 2])
    assert [level.level.entries.tolist() for level in HiddenShape.of(own, 1).levels] == [[1], [1], [1]]
    # The root is somebody else's: two splits at level 1, each with two below it.
    others = paths([-1, -1, 0, 1, 2, 3], [1, 1, 2, 2, 2, 2])
    shape = HiddenShape.of(others, 1)
    assert [level.level.entries.tolist() for level in shape.levels] == [[2], [2]]
    assert shape.levels[1].entry.tolist() == [1, 1, 2, 2]
    mixed = paths([-1, 0, 0, 1], [0, 2, 2, 2])
    assert HiddenShape.of(mixed, 1).levels[1].entry.tolist() == [1, 2, 1]
    apart = HiddenShape.of(paths([-1, 0, 1], [0, 1, 1], "probabilistic"), 1)
    assert [level.level.entries.tolist() for level in apart.levels] == [[1], [1, 1]]
    assert [level.level.planes for level in apart.levels] == [2, 2]


@pytest.mark.parametrize("strategy", ["learned", "both_ways"])
def test_bits_of_splits_that_a_row_cannot_reach_are_zero(strategy: str, request: pytest.FixtureRequest) -> None:
    """Against a loop over rows and splits."""
    result, tables, _ = request.getfixturevalue(strategy)
    share, table = result.passive_shares["shop"], tables["shop"]
    paths, count = share.paths, 37
    splits = HiddenSplits(paths, HiddenShape.of(paths, 5))
    with split_tester(share.records, table, None) as tester:
        part = splits.evaluate(tester, 10, count)
        answers = tester.test(list(range(len(share.records))), [None] * len(share.records), 10, count, True)
    left = np.unpackbits(part.left, axis=1, bitorder="little")
    assert not left[:, count:].any()
    for record in range(len(share.records)):
        for row in range(count):
            above, reached = int(paths.above[record]), True
            while above >= 0:
                goes, lacks = (bool(mask[row]) for mask in answers[above // 2])
                reached &= (goes if above % 2 == 0 else not goes) or (lacks and paths.both_ways)
                above = int(paths.above[above // 2])
            assert left[record, row] == (reached and answers[record][0][row])
            if part.missing is not None:
                lacks = np.unpackbits(part.missing[record], bitorder="little")[row]
                assert lacks == (reached and answers[record][1][row])


def test_what_the_active_party_did_not_choose_looks_like_coin_tosses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that the shop sent in a prediction by forty trees, compared with its true bits."""
    result, tables, _ = trained(rounds=40)
    wishes: list[np.ndarray] = []
    read = HiddenLine.read

    def noted(self: HiddenLine, asked: Any, depth: int, block: Any, visits: Any) -> Any:
        if self.channel.peer == "shop":
            wishes.append(asked.under_way[0][1].wanted)
        return read(self, asked, depth, block, visits)

    monkeypatch.setattr(HiddenLine, "read", noted)
    seen: Seen = []
    hidden_margins(result, tables, seen=seen)
    answers = [message for who, _, message in seen if who == "shop" and isinstance(message, HiddenRouted)]
    share = result.passive_shares["shop"]
    shape = HiddenShape.of(share.paths, 40)
    with split_tester(share.records, tables["shop"], None) as tester:
        part = HiddenSplits(share.paths, shape).evaluate(tester, 0, N)
    right = total = 0
    for answer, wanted in zip(answers, wishes, strict=True):
        level = shape.by_depth[answer.depth]
        truth, sent = (
            np.unpackbits(lines.reshape(level.level.lines, -1), axis=1, bitorder="little", count=N)
            for lines in (part.lines(level), np.frombuffer(answer.sent, np.uint8))
        )
        groups = np.repeat(np.arange(len(level.level)), level.level.entries)
        entries = np.concatenate([np.arange(1, count + 1) for count in level.level.entries.tolist()])
        others = wanted[groups] != entries[:, np.newaxis]
        right += int((truth == sent)[others].sum())
        total += int(others.sum())
    assert total > 2000
    assert abs(right - total / 2) < 5 * np.sqrt(total) / 2


def refused(learned, monkeypatch: pytest.MonkeyPatch, change: Any, at: type) -> VfxgbError:
    """The error of a hidden prediction in which the bank sends other messages than it should."""
    result, tables, _ = learned
    send = Channel.send

    def other(self: Channel, message: Any) -> None:
        send(self, change(message) if isinstance(message, at) else message)

    with monkeypatch.context() as patched:
        patched.setattr(Channel, "send", other)
        with pytest.raises(VfxgbError) as caught:
            hidden_margins(result, tables)
    return caught.value


@pytest.mark.parametrize(
    ("at", "change", "match"),
    [
        (HiddenRoute, {"first": 3}, "found rows 3 to 153, wanted rows from 0 on"),
        (HiddenRoute, {"count": 140}, "leaves rows out|found 140 rows from 0 on, wanted 150"),
        (HiddenRoute, {"count": 151}, "found rows 0 to 151, wanted rows from 0 on, up to 150"),
        (HiddenRoute, {"depth": 9}, "wanted their next level"),
        (HiddenRoute, {"batch": 7}, "found batch 7 of"),
        (HiddenRoute, {"n_transfers": 1}, "batches come once and in order"),
        (HiddenRoute, {"transfers": memoryview(b"")}, "a transfer serves once"),
        (HiddenRoute, {"corrections": memoryview(b"1234")}, "found 4 bytes of choices"),
        (HiddenGroups, {"n_trees": 4}, "groups of tree and level, wanted"),
        (HiddenGroups, {"n_trees": -1}, "found a prediction by -1 trees"),
        (HiddenGroups, {"n_groups": 0}, "found splits in 0 groups of tree and level"),
        (TransferStock, {"count": 500}, "truncated, or the parties disagree"),
        (TransferStock, {"batch": 1}, "found batch 1 of 128 transfers, wanted batch 0"),
    ],
)
def test_questions_that_do_not_fit(
    learned, monkeypatch: pytest.MonkeyPatch, at: type, change: dict[str, Any], match: str
) -> None:
    error = refused(learned, monkeypatch, lambda message: msgspec.structs.replace(message, **change), at)
    chain = f"{error} {error.__cause__} {error.__context__}"
    assert isinstance(error, (MessageError, TransferError, ShareMismatchError, PeerError))
    assert re.search(match, chain), chain


def test_another_number_of_splits(learned, monkeypatch: pytest.MonkeyPatch) -> None:
    def more(message: HiddenGroups) -> HiddenGroups:
        groups = np.frombuffer(message.groups, np.int32).reshape(-1, 3).copy()
        groups[2, 2] += 1
        return msgspec.structs.replace(message, groups=pack_array(groups))

    error = refused(learned, monkeypatch, more, HiddenGroups)
    assert "entries in tree" in f"{error} {error.__cause__} {error.__context__}"


def test_rows_left_out_at_the_end(learned, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that stops asking when its rows are at leaves is refused when it closes."""
    result, tables, _ = learned
    ask = HiddenLine.ask

    def stop_early(self: HiddenLine, depth: int, block: Any, visits: Any) -> Any:
        return None if depth == self.shape.end - 1 else ask(self, depth, block, visits)

    monkeypatch.setattr(HiddenLine, "ask", stop_early)
    with pytest.raises(MessageError, match=r"wanted all levels of rows 0 to 150; the other party leaves rows out"):
        hidden_margins(result, tables)


def test_open_and_hidden_do_not_mix(learned) -> None:
    result, tables, _ = learned

    def lead(channels: dict[str, Channel], lines: HiddenLines) -> Any:
        return lead_prediction(result.active_share, tables["bank"], channels)

    with pytest.raises(VfxgbError, match="an open prediction, wanted a hidden one"):
        hidden_session(result, tables, lead)


def test_multiclass_and_a_model_without_splits_of_a_party() -> None:
    X, tables = data(3)
    y = np.digitize(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]), [-0.5, 0.5]).astype(np.float64)
    params = TrainParams(objective="multi:softprob", num_class=3, n_estimators=3, max_depth=3, n_jobs=1)
    result = fit_tables(tables, "bank", y, None, N, params)
    hidden, _ = hidden_margins(result, tables)
    assert hidden.shape == (N, 3)
    assert np.array_equal(hidden, over_channels(result, tables)[0])
    own = {
        party: table if party == "bank" else Table.read(np.zeros((N, 1)), names=[party], party=party)
        for party, table in tables.items()
    }
    alone = fit_tables(own, "bank", y, None, N, params)
    assert all(len(share.records) == 0 for share in alone.passive_shares.values())
    assert np.array_equal(hidden_margins(alone, own)[0], over_channels(alone, own)[0])


def test_rows_on_their_way_are_bounded(learned, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are as large as a passive party allows; one that asks for more is refused."""
    result, tables, _ = learned
    most = max(len(share.records) for share in result.passive_shares.values())
    monkeypatch.setattr("vfxgb.predict.active.BLOCK_BITS", 40 * most)
    monkeypatch.setattr("vfxgb.predict.hidden_answers.MAX_HELD_BITS", 40 * most)
    found, _ = hidden_margins(result, tables)
    assert np.array_equal(found, over_channels(result, tables)[0])
    monkeypatch.setattr("vfxgb.predict.active.BLOCK_BITS", 41 * most)
    with pytest.raises(MessageError, match="found 41 rows on their way at once, wanted at most 40"):
        hidden_margins(result, tables)
