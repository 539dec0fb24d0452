"""A passive party in joint prediction: it answers for its own splits."""

from collections.abc import Callable

import numpy as np

from vfxgb.data.table import Table
from vfxgb.errors import MessageError, ShareMismatchError
from vfxgb.model.shares import PassiveShare
from vfxgb.predict.messages import ClosePrediction, OpenPrediction, PredictionReady, Route, Routed
from vfxgb.predict.routing import SplitTester, unpack_rows
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array
from vfxgb.transport.rows import check_rows, rows_digest


class PassivePredictor:
    """One prediction of one passive party; `run()` returns when the active party has closed it.

    `accept`: called with OpenPrediction before anything else; raises ConsentError for what the party does not agree to.
    """

    def __init__(
        self,
        share: PassiveShare,
        table: Table,
        channel: Channel,
        accept: Callable[[OpenPrediction], None] | None = None,
    ) -> None:
        self._accept = accept
        self._share = share
        self._n_rows = table.n_rows
        self._ids = table.ids
        self._tester = SplitTester(share.records, table)
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
        own = (self._n_rows, rows_digest(self._ids))
        check_rows(share.party, self._channel.peer, own, (opening.n_rows, opening.rows_digest))
        self._channel.send(PredictionReady())
        while True:
            message = self._channel.recv(Route, ClosePrediction)
            if isinstance(message, ClosePrediction):
                return
            self._channel.send(self._answer(message, opening.missing))

    def _answer(self, route: Route, with_missing: bool) -> Routed:
        what = f"{self._share.party} predicting, level {route.depth}"
        if not (route.first >= 0 and route.count > 0 and route.first + route.count <= self._n_rows):
            raise MessageError(
                f"{what}: found rows {route.first} to {route.first + route.count}, wanted some of 0 to {self._n_rows}"
            )
        records = unpack_array(route.records, np.int32, (len(route.records) // 4,), what)
        sizes = unpack_array(route.sizes, np.int32, (len(records),), what)
        if len(records) == 0 or int(records.min()) < 0 or int(records.max()) >= len(self._tester):
            raise MessageError(f"{what}: found no question, or a record outside the {len(self._tester)} of this party")
        sets = unpack_rows(route.rows, sizes, route.count, what)
        answers = [
            self._tester.test(record, route.first, rows, route.count)
            for record, rows in zip(records.tolist(), sets, strict=True)
        ]
        left = np.packbits(np.concatenate([one for one, _ in answers]), bitorder="little")
        missing = pack_bytes(b"")
        if with_missing:
            missing = pack_array(np.packbits(np.concatenate([one for _, one in answers]), bitorder="little"))
        return Routed(depth=route.depth, left=pack_array(left), missing=missing)
