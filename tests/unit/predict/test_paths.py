"""A passive party answers the path of a row and no more, whatever an active party asks for."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from prediction_runs import N, data, naive_margins, over_channels, trained
from vfxgb.errors import MessageError, PeerError, ShareMismatchError
from vfxgb.model.shares import PassiveShare
from vfxgb.predict import active
from vfxgb.predict.messages import PREDICTION_MESSAGES, OpenPrediction, PredictionReady, Route, Routed
from vfxgb.predict.paths import most_comparisons
from vfxgb.predict.routing import pack_rows
from vfxgb.predict.sides import follow_prediction
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.simulate import FitResult
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.messages import Catalogue, pack_array, pack_bytes
from vfxgb.transport.rows import rows_digest


class Asker:
    """An active party that asks the shop whatever a test wants it to."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def open(self, result: FitResult, missing: bool) -> None:
        share = result.active_share
        self._channel.send(OpenPrediction(share.run, share.seal.model, N, rows_digest(None), missing))
        self._channel.recv(PredictionReady)

    def __call__(self, depth: int, questions: dict[int, list[int]], first: int = 0, count: int = N) -> np.ndarray:
        """Ask about records -> rows; returns who goes left, one after the other."""
        rows = [np.array(some, dtype=np.int32) for some in questions.values()]
        self.send(depth, list(questions), rows, first, count)
        answer = self._channel.recv(Routed)
        total = sum(map(len, rows))
        assert answer.n_answers == answer.amount() == total
        return np.unpackbits(np.frombuffer(answer.left, np.uint8), bitorder="little")[:total].astype(bool)

    def send(self, depth: int, records: list[int], rows: list[np.ndarray], first: int = 0, count: int = N) -> None:
        sizes = np.array([len(some) for some in rows], dtype=np.int32)
        parts = (pack_array(np.array(records, dtype=np.int32)), pack_array(sizes), pack_bytes(pack_rows(rows, count)))
        self._channel.send(Route(depth, first, count, *parts))


def deviating(
    ask: Callable[[Asker, PassiveShare], None], strategy: str = "learned", missing: bool | None = None
) -> BaseException:
    """What the shop raises when the bank asks like that."""
    result, tables, _ = trained(strategy, rounds=15)
    share = result.passive_shares["shop"]
    one, other = memory_channels("bank", "shop", Catalogue(PREDICTION_MESSAGES), bytes(16), timeout=30.0)
    raised: list[BaseException] = []

    def follow() -> None:
        try:
            follow_prediction(share, tables["shop"], other)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=follow)
    thread.start()
    asker = Asker(one)
    try:
        # The shop tells the bank that it stopped; why it did is what it raised itself.
        with suppress(PeerError):
            asker.open(result, strategy == "probabilistic" if missing is None else missing)
            ask(asker, share)
    finally:
        one.close()
        thread.join(30.0)
        assert not thread.is_alive()
    (error,) = raised
    return error


def first_of(share: PassiveShare, depth: int, above: bool) -> int:
    assert share.paths is not None
    fits = (share.paths.depth == depth) if depth >= 0 else np.ones(len(share.records), bool)
    return int(np.flatnonzero(fits & ((share.paths.above >= 0) == above))[0])


def cousins(share: PassiveShare) -> tuple[int, int]:
    """Two splits of one tree with nothing of the shop above them, at two levels: another party's split parts them."""
    paths = share.paths
    assert paths is not None
    for low in np.flatnonzero(paths.above < 0):
        for high in np.flatnonzero((paths.above < 0) & (paths.tree == paths.tree[low])):
            if paths.depth[high] < paths.depth[low]:
                return int(high), int(low)
    raise AssertionError("no such trees")


def test_all_records_at_once_are_refused() -> None:
    def ask(asker: Asker, share: PassiveShare) -> None:
        asker(0, {record: [0, 1, 2] for record in range(len(share.records))})

    error = deviating(ask)
    assert isinstance(error, MessageError)
    assert "found a question about a split of level" in str(error)
    assert "answers the path of each row and no more" in str(error)


def test_a_record_twice_in_one_message_or_in_two() -> None:
    def in_one(asker: Asker, share: PassiveShare) -> None:
        record = first_of(share, 0, above=False)
        asker.send(0, [record, record], [np.array([0], np.int32), np.array([1], np.int32)])
        asker._channel.recv(Routed)

    def in_two(asker: Asker, share: PassiveShare) -> None:
        record = first_of(share, 0, above=False)
        asker(0, {record: [0]})
        asker(0, {record: [1]})

    assert "two questions about one record, wanted each record once" in str(deviating(in_one))
    assert "found level 0, wanted one after 0" in str(deviating(in_two))


def test_many_questions_are_refused_before_they_are_unpacked() -> None:
    def ask(asker: Asker, share: PassiveShare) -> None:
        zeros = pack_array(np.zeros(100_000, np.int32))
        asker._channel.send(Route(0, 0, N, zeros, pack_array(np.full(100_000, N, np.int32)), pack_bytes(b"")))
        asker._channel.recv(Routed)

    assert "found 100000 questions and 0 bytes of rows, wanted 1 to " in str(deviating(ask))

    def long(asker: Asker, share: PassiveShare) -> None:
        record = pack_array(np.array([first_of(share, 0, above=False)], np.int32))
        asker._channel.send(Route(0, 0, N, record, pack_array(np.array([5], np.int32)), pack_bytes(bytes(1 << 20))))
        asker._channel.recv(Routed)

    assert "1 questions and 1048576 bytes of rows, wanted 1 to" in str(deviating(long))


@pytest.mark.parametrize("strategy", ["learned", "probabilistic"])
def test_a_deeper_split_only_on_the_side_that_was_answered(strategy: str) -> None:
    def below(answered: bool) -> Callable[[Asker, PassiveShare], None]:
        def ask(asker: Asker, share: PassiveShare) -> None:
            paths = share.paths
            assert paths is not None
            child = first_of(share, -1, above=True)
            parent, right = divmod(int(paths.above[child]), 2)
            known = np.flatnonzero(~np.isnan(data()[1]["shop"].column(int(share.records.feature[parent]))))
            left = asker(int(paths.depth[parent]), {parent: known.tolist()})
            there = known[left != bool(right)]
            assert 0 < len(there) < len(known)
            asker(int(paths.depth[child]), {child: (there if answered else known).tolist()})
            asker._channel.close()

        return ask

    error = deviating(below(answered=False), strategy)
    assert isinstance(error, MessageError)
    assert "rows that cannot come to split" in str(error)
    assert "has closed the channel" in str(deviating(below(answered=True), strategy))


def test_a_deeper_split_without_the_one_above() -> None:
    def ask(asker: Asker, share: PassiveShare) -> None:
        assert share.paths is not None
        child = first_of(share, -1, above=True)
        asker(int(share.paths.depth[child]), {child: [4]})

    assert "found 1 of 1 rows that cannot come to split" in str(deviating(ask))


def test_two_branches_of_anothers_split_are_not_both_answered() -> None:
    def ask(asker: Asker, share: PassiveShare) -> None:
        paths = share.paths
        assert paths is not None
        high, low = cousins(share)
        asker(int(paths.depth[high]), {high: [0, 1, 2]})
        # Other rows may stand there, those may not.
        asker(int(paths.depth[low]), {low: [3, 4]} if paths.both_ways else {low: [2, 3, 4]})
        asker._channel.close()

    assert "found 1 of 3 rows that cannot come to split" in str(deviating(ask))
    # With rows that go both ways at missing values the shop cannot tell: a row may stand before both.
    assert "has closed the channel" in str(deviating(ask, "probabilistic"))


def test_rows_are_not_asked_for_again_as_another_block() -> None:
    def ask(asker: Asker, share: PassiveShare) -> None:
        record = first_of(share, 0, above=False)
        asker(0, {record: [0, 1]}, first=0, count=10)
        asker(0, {record: [0, 1]}, first=10, count=10)
        asker(0, {record: [0, 1]}, first=19, count=10)

    assert "found rows 19 to 29, wanted rows from 20 on" in str(deviating(ask))


@pytest.mark.parametrize("strategy", ["learned", "probabilistic"])
def test_whether_missing_values_are_told_is_the_models(strategy: str) -> None:
    def ask(asker: Asker, share: PassiveShare) -> None:
        raise AssertionError("opened")

    error = deviating(ask, strategy, missing=strategy == "learned")
    assert isinstance(error, ShareMismatchError)
    assert f"the model was trained with '{strategy}'" in str(error)


@pytest.mark.parametrize("strategy", ["learned", "mean", "probabilistic"])
def test_honest_predictions_pass_in_one_block_and_in_many(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result, tables, X = trained(strategy)
    ledger = Ledger()
    margin, _, _ = over_channels(result, tables, ledger=ledger)
    if strategy == "learned":
        assert np.array_equal(margin[:, 0], naive_margins(result, X, 5))
    told = {entry.message: entry.amount for entry in ledger.entries if "shop" in (entry.sender, entry.receiver)}
    assert told["routed"] == told["route"] > 0
    monkeypatch.setattr(active, "BLOCK_PAIRS", 7 * 5)
    again, _, _ = over_channels(result, tables)
    assert np.array_equal(again, margin)
    # Shares of an earlier version have no paths: they predict the same.
    old = {party: replace(share, paths=None) for party, share in result.passive_shares.items()}
    margins, _, _ = over_channels(replace(result, passive_shares=old), tables)
    assert np.array_equal(margins, margin)


@pytest.mark.parametrize("strategy", ["learned", "probabilistic"])
def test_the_most_comparisons_of_a_row(strategy: str) -> None:
    result, tables, _ = trained(strategy, rounds=15)
    ledger = Ledger()
    over_channels(result, tables, ledger=ledger)
    paths = result.passive_shares["shop"].paths
    assert paths is not None
    most = most_comparisons(paths)
    (told,) = (entry.amount for entry in ledger.entries if (entry.sender, entry.message) == ("shop", "routed"))
    assert told <= most * N
    if strategy == "probabilistic":
        assert most == len(paths.tree)
        return
    # Tree by tree the longest way up, walked from every split.
    longest: dict[int, int] = {}
    for record, tree in enumerate(paths.tree.tolist()):
        length, place = 0, record
        while place >= 0:
            length, place = length + 1, int(paths.above[place]) // 2 if paths.above[place] >= 0 else -1
        longest[tree] = max(longest.get(tree, 0), length)
    assert most == sum(longest.values()) < len(paths.tree)
