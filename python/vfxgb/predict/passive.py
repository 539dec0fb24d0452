"""A passive party in joint prediction: it answers for its own splits."""

from collections.abc import Callable

import numpy as np

from vfxgb.errors import MessageError, ShareMismatchError
from vfxgb.model.shares import PassiveShare
from vfxgb.predict.block import pack_answers
from vfxgb.predict.messages import ClosePrediction, OpenPrediction, PredictionReady, Route, Routed
from vfxgb.predict.routing import unpack_rows
from vfxgb.predict.tester import SplitTester
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array
from vfxgb.transport.rows import check_rows


class PassivePredictor:
    """One prediction of one passive party; `run()` returns when the active party has closed it.

    `tester`: of this party's rows; `rows`: their number and digest.
    `accept`: called with OpenPrediction before anything else; raises ConsentError for what the party does not agree to.
    """

    def __init__(
        self,
        share: PassiveShare,
        tester: SplitTester,
        rows: tuple[int, bytes],
        channel: Channel,
        accept: Callable[[OpenPrediction], None] | None = None,
    ) -> None:
        self._accept = accept
        self._share = share
        self._rows = rows
        self._tester = tester
        self._channel = channel

    def run(self) -> None:
        """Answer until the end. Any error is the caller's to pass on to the active party."""
        opening = self._channel.recv(OpenPrediction)
        if self._accept is not None:
            self._accept(opening)
        share = self._share
        if (opening.run, opening.model) != (share.run, share.seal.model) or not share.seal.model:
            raise ShareMismatchError(
                f"{share.party} predicting: the active party's model is of another run than this party's share; use "
                "the shares that were saved together"
            )
        check_rows(share.party, self._channel.peer, self._rows, (opening.n_rows, opening.rows_digest))
        self._channel.send(PredictionReady())
        while True:
            message = self._channel.recv(Route, ClosePrediction)
            if isinstance(message, ClosePrediction):
                return
            self._channel.send(self._answer(message, opening.missing))

    def _answer(self, route: Route, with_missing: bool) -> Routed:
        what = f"{self._share.party} predicting, level {route.depth}"
        n_rows, _ = self._rows
        if not (route.first >= 0 and route.count > 0 and route.first + route.count <= n_rows):
            raise MessageError(
                f"{what}: found rows {route.first} to {route.first + route.count}, wanted some of 0 to {n_rows}"
            )
        records = unpack_array(route.records, np.int32, (len(route.records) // 4,), what)
        sizes = unpack_array(route.sizes, np.int32, (len(records),), what)
        own = len(self._share.records)
        if len(records) == 0 or int(records.min()) < 0 or int(records.max()) >= own:
            raise MessageError(f"{what}: found no question, or a record outside the {own} of this party")
        sets = unpack_rows(route.rows, sizes, route.count, what)
        answers = self._tester.test(records.tolist(), sets, route.first, route.count, with_missing)
        left, missing = pack_answers(answers)
        return Routed(
            depth=route.depth,
            left=pack_array(left),
            missing=pack_bytes(b"") if missing is None else pack_array(missing),
        )
