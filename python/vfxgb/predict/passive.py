"""A passive party in joint prediction: it answers for its own splits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import MessageError, ShareMismatchError
from vfxgb.model.shares import PassiveShare
from vfxgb.predict.block import Answer, pack_answers
from vfxgb.predict.hidden_answers import HiddenAnswers, HiddenSide, announced_splits
from vfxgb.predict.messages import (
    ClosePrediction,
    HiddenGroups,
    Leaned,
    OpenPrediction,
    PredictionReady,
    Route,
    Routed,
)
from vfxgb.predict.paths import PathGuard
from vfxgb.predict.routing import Rows, unpack_rows
from vfxgb.predict.split_evaluator import SplitTester
from vfxgb.routing import RoutingSender
from vfxgb.routing.messages import HiddenRoute, SilentRound, TransferStock
from vfxgb.routing.receiver import MAX_BATCH
from vfxgb.routing.setup import answer_silent
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array
from vfxgb.transport.rows import check_rows

# Transfers made ahead that a party holds, 16 bytes each: a stock, and the next one where that runs low.
MAX_STOCK = 2 * MAX_BATCH


@dataclass
class PassivePredictor:
    """One prediction of one passive party; `run()` returns when the active party has closed it.

    `tester` tests this party's rows; `rows` holds their number and digest.
    `accept`: called with OpenPrediction before anything else; raises ConsentError for what the party does not agree to.
    `hidden`: the party's hidden routing, if it answers hidden predictions; None answers open ones.
    `comparisons`: how many open questions were answered so far, one for each row of each question and one more for
    each missing value whose lean was told.
    """

    share: PassiveShare
    tester: SplitTester
    rows: tuple[int, bytes]
    channel: Channel
    accept: Callable[[OpenPrediction], None] | None = None
    hidden: HiddenSide | None = None
    comparisons: int = 0

    def __post_init__(self) -> None:
        self._guard = PathGuard(self.share.paths, len(self.share.records))
        # The questions of the last message, and what was answered.
        self._answered: tuple[Sequence[int], Sequence[Rows | None], Sequence[Answer]] = ((), (), ())

    def run(self) -> None:
        """Answer until the end. Any error is the caller's to pass on to the active party."""
        opening = self.channel.recv(OpenPrediction)
        self._check_hidden(opening)
        if self.accept is not None:
            self.accept(opening)
        share = self.share
        if (opening.run, opening.model) != (share.run, share.seal.model) or not share.seal.model:
            raise ShareMismatchError(
                f"{share.party} predicting: the active party's model is of another run than this party's share; use "
                "the shares that were saved together"
            )
        check_rows(share.party, self.channel.peer, self.rows, (opening.n_rows, opening.rows_digest))
        with_missing = self._with_missing(opening)
        if self.hidden is not None:
            self._run_hidden(self.hidden)
            return
        self.channel.send(PredictionReady())
        while True:
            message = self.channel.recv(Route, ClosePrediction)
            if isinstance(message, ClosePrediction):
                return
            self.channel.send(self._answer(message, with_missing))
            if self.share.records.leanings is not None:
                self.channel.send(self._leaned(message))

    def _check_hidden(self, opening: OpenPrediction) -> None:
        if opening.hidden != (self.hidden is not None):
            found, wanted = ("a hidden", "an open") if opening.hidden else ("an open", "a hidden")
            raise ShareMismatchError(
                f"{self.share.party} predicting: found {found} prediction, wanted {wanted} one in this session; both "
                "parties must set the same"
            )

    def _run_hidden(self, side: HiddenSide) -> None:
        """Answer hidden questions until the end."""
        share, channel, sender = self.share, self.channel, side.sender
        splits = announced_splits(side, share, channel.recv(HiddenGroups), f"{share.party} predicting")
        answers = HiddenAnswers(share.party, splits, self.tester, self.rows[0], sender)
        channel.send(PredictionReady())
        while True:
            message = channel.recv(HiddenRoute, TransferStock, SilentRound, ClosePrediction)
            if isinstance(message, HiddenRoute):
                channel.send(answers.answer(message))
            elif isinstance(message, TransferStock):
                self._take_stock(sender, message)
            elif isinstance(message, SilentRound):
                answer_silent(sender, channel, message)
            else:
                answers.finish()
                return

    def _take_stock(self, sender: RoutingSender, stock: TransferStock) -> None:
        """Take transfers that were made ahead. Raises MessageError for more than a party may have, TransferError."""
        held = sum(sender.stocked)
        if stock.count > MAX_STOCK - held:
            raise MessageError(
                f"{self.share.party} predicting: found {stock.count} transfers made ahead beside {held}, wanted at "
                f"most {MAX_STOCK} in all; ask about fewer rows at a time"
            )
        sender.add_stock(stock.batch, stock.count, stock.transfers)

    def _with_missing(self, opening: OpenPrediction) -> bool:
        """Whether answers say which values are missing: as the sealed share says, whatever is asked for."""
        paths = self.share.paths
        if paths is None:
            return opening.missing
        if opening.missing != paths.both_ways:
            raise ShareMismatchError(
                f"{self.share.party} predicting: found a request to tell missing values: {opening.missing}, wanted "
                f"{paths.both_ways}: the model was trained with {paths.missing_strategy!r}; use the shares that were "
                "saved together"
            )
        return paths.both_ways

    def _answer(self, route: Route, with_missing: bool) -> Routed:
        what = f"{self.share.party} predicting, level {route.depth}"
        n_rows, _ = self.rows
        if not (route.first >= 0 and route.count > 0 and route.first + route.count <= n_rows):
            raise MessageError(
                f"{what}: found rows {route.first} to {route.first + route.count}, wanted some of 0 to {n_rows}"
            )
        records, sizes = self._questions(route, what)
        self._guard.enter(route.first, route.count, route.depth, what)
        sets = unpack_rows(route.rows, sizes, route.count, what)
        self._guard.check(records, sets, what)
        answers = self.tester.test(records, sets, route.first, route.count, with_missing)
        self._guard.note(records, sets, answers)
        left, missing = pack_answers(answers)
        count = int(sizes.sum(dtype=np.int64))
        self.comparisons += count
        packed = pack_bytes(b"") if missing is None else pack_array(missing)
        self._answered = records, sets, answers
        return Routed(route.depth, n_answers=count, left=pack_array(left), missing=packed)

    def _leaned(self, route: Route) -> Leaned:
        """Which way the rows lean whose value is missing by the answer that was sent last."""
        records, sets, answers = self._answered
        everyone = np.arange(route.count, dtype=np.int32)
        lacking = [
            (everyone if rows is None else rows)[missing] for rows, (_, missing) in zip(sets, answers, strict=True)
        ]
        leans = np.concatenate(self.tester.leans(records, lacking, route.first, route.count))
        self.comparisons += len(leans)
        return Leaned(route.depth, n_values=len(leans), leans=pack_array(leans))

    def _questions(self, route: Route, what: str) -> tuple[list[int], NDArray[np.int32]]:
        """(records, rows of each) of a message that has at most one question about each record of this party.

        What does not fit is refused before anything is made of it: a question costs this party the rows of a block.
        """
        own = len(self.share.records)
        asked = len(route.records) // 4
        most = asked * ((route.count + 7) // 8)
        if not 1 <= asked <= own or len(route.rows) > most:
            raise MessageError(
                f"{what}: found {asked} questions and {len(route.rows)} bytes of rows, wanted 1 to {own} questions, "
                f"one for each split of this party, and at most {most} bytes for {route.count} rows"
            )
        records = unpack_array(route.records, np.int32, (asked,), what)
        sizes = unpack_array(route.sizes, np.int32, (asked,), what)
        if int(records.min()) < 0 or int(records.max()) >= own:
            raise MessageError(f"{what}: found a question about a record outside the {own} of this party")
        if len(np.unique(records)) != asked:
            raise MessageError(f"{what}: found two questions about one record, wanted each record once in a block")
        return records.tolist(), sizes
