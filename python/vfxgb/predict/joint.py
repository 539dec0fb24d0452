"""Joint prediction in one process: the active party in the calling thread, each passive one in a thread of its own."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vfxgb._native.rand import random_bytes
from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.engine.base import Engine
from vfxgb.errors import ShareMismatchError
from vfxgb.model.seal import check_together
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.predict.hidden_answers import connect_hidden_side
from vfxgb.predict.hidden_line import connect_hidden
from vfxgb.predict.messages import HIDDEN_PREDICTION_MESSAGES, PREDICTION_MESSAGES
from vfxgb.predict.sides import follow_prediction, lead_prediction
from vfxgb.routing import RoutingSettings
from vfxgb.transport.channel import Channel, Observer, memory_channels
from vfxgb.transport.frame import RUN_BYTES
from vfxgb.transport.messages import Catalogue
from vfxgb.transport.threads import PartyThread, run_together


def predict_margin(
    active_share: ActiveShare,
    passive_shares: Mapping[str, PassiveShare],
    tables: Mapping[str, Table | Source],
    n_rounds: int | None = None,
    threads: int | None = None,
    observer: Observer | None = None,
    engines: Mapping[str, Engine] | None = None,
    what: Literal["margin", "leaves"] = "margin",
    hidden: bool | RoutingSettings = False,
    first_round: int = 0,
    start: NDArray[np.float64] | None = None,
) -> NDArray[Any]:
    """Margins float64[n, n_outputs] of the rows of `tables` (one per party, same rows in the same order).

    `n_rounds`: use the first so many rounds; None is best_iteration + 1 where early stopping set it, else all.
    missing_strategy="probabilistic" sends a row with a missing value down both branches, weighted by cover;
    "conditional" weights them by the row's other values at the split's party as well, and cannot be `hidden`.
    `threads`: None or at least 1; each party tests its splits in one thread, whatever it says.
    `observer` is told of every message (Ledger.record is one). `engines`: where parties' rows are read and tested; the
    others' are in this process (see lead_prediction). `what`: "leaves" predicts those instead; see predict_leaves.
    `hidden`: passive parties do not learn which of their splits a row reaches (True, or how; vfxgb.routing); the result
    is the same. `first_round`: leave out the rounds before it. `start`: float64[n, n_outputs], margins from which rows
    start, in place of the model's start margin.
    Raises ShareMismatchError (shares of different runs, or one missing), ColumnNameError, AlignmentError (rows differ),
    ParameterError (a hidden prediction of "conditional").
    """
    check_together(active_share, passive_shares)
    for party in active_share.parties:
        if party not in tables:
            raise ShareMismatchError(
                f"predicting: no table of party {party!r}, wanted one of each of {list(active_share.parties)}"
            )
    engines = engines or {}
    run = random_bytes(RUN_BYTES)
    catalogue = Catalogue(HIDDEN_PREDICTION_MESSAGES if hidden else PREDICTION_MESSAGES)
    settings = hidden if isinstance(hidden, RoutingSettings) else RoutingSettings(threads=threads)
    channels: dict[str, Channel] = {}
    others: dict[str, PartyThread] = {}
    for party, share in passive_shares.items():
        channels[party], theirs = memory_channels(active_share.party, party, catalogue, run, observer)
        follow = partial(_follow, share, tables[party], theirs, engines.get(party), bool(hidden), threads)
        others[party] = PartyThread(party, follow, theirs)
    own, engine = tables[active_share.party], engines.get(active_share.party)

    def lead() -> NDArray[Any]:
        lines = connect_hidden(active_share, channels, settings) if hidden else None
        return lead_prediction(
            active_share, own, channels, n_rounds, what, threads, engine, lines, first_round=first_round, start=start
        )

    return run_together(lead, channels, others)


def predict_leaves(
    active_share: ActiveShare,
    passive_shares: Mapping[str, PassiveShare],
    tables: Mapping[str, Table | Source],
    **how: Any,
) -> NDArray[np.int32]:
    """The leaf of each row in each tree, int32[n, trees], numbers within the tree (XGBoost's `apply`).

    With missing_strategy="probabilistic" or "conditional" a row may end in several leaves: that of the largest
    weight counts.
    `how`: the other arguments of predict_margin; errors as there.
    """
    return predict_margin(active_share, passive_shares, tables, what="leaves", **how)


def _follow(
    share: PassiveShare,
    table: Table | Source,
    channel: Channel,
    engine: Engine | None,
    hidden: bool,
    threads: int | None,
) -> None:
    side = connect_hidden_side(channel, threads) if hidden else None
    follow_prediction(share, table, channel, engine=engine, hidden=side)
