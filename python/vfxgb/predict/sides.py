"""The two sides of a joint prediction, each over channels that are there already.

    active party: lead_prediction(...)            passive party: follow_prediction(...)

One prediction is a conversation of its own (OpenPrediction to ClosePrediction); several may follow one another over one
channel. Both sides tell their peers when they fail, and raise.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vfxgb.data.source import Source, as_table
from vfxgb.data.table import Table
from vfxgb.engine.base import Engine
from vfxgb.errors import ShareMismatchError
from vfxgb.model.private_stage import score_names, with_scores
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.objective import CUSTOM, make_objective
from vfxgb.params import TrainParams
from vfxgb.predict.active import ActivePredictor
from vfxgb.predict.hidden_answers import HiddenSide
from vfxgb.predict.hidden_line import HiddenLines
from vfxgb.predict.messages import OpenPrediction
from vfxgb.predict.passive import PassivePredictor
from vfxgb.predict.split_evaluator import split_tester
from vfxgb.threads import resolve_threads
from vfxgb.transport.channel import Channel
from vfxgb.transport.failure import failure_told
from vfxgb.transport.rows import rows_digest


def lead_prediction(
    share: ActiveShare,
    table: Table | Source,
    channels: Mapping[str, Channel],
    n_rounds: int | None = None,
    what: Literal["margin", "value", "leaves"] = "margin",
    threads: int | None = None,
    engine: Engine | None = None,
    hidden: HiddenLines | None = None,
    first_round: int = 0,
    start: NDArray[np.float64] | None = None,
) -> NDArray[Any]:
    """Predict the rows of `table`, which are the same rows in the same order at every party.

    `channels` lead to every passive party of the model; their catalogue holds PREDICTION_MESSAGES, or with `hidden`
    HIDDEN_PREDICTION_MESSAGES. `hidden`: hidden routing with all of them (connect_hidden), so that they do not learn
    which of their splits a row reaches; the result is the same. `n_rounds`: use the
    first so many; None is best_iteration + 1 where early stopping set it, else all, and the private last stage after
    them where the share has one (it is not used with `n_rounds`, nor for leaves). `first_round`: leave out the rounds
    before it. `start`: float64[n, n_outputs], margins from which rows start, in place of the model's start margin; they
    stay at the active party. `what`: "margin": float64[n,
    n_outputs]; "value": what the objective's link makes of it, [n] or class probabilities [n, n_outputs]; "leaves":
    int32[n, trees], the leaf of each row in each tree, of several that of the largest weight. `threads`: None or at
    least 1; a party's part is gathers and comparisons that gain nothing from more than one, whatever it says.
    `engine`: where the rows are read and tested; None: in this process, a block of rows at a time. The result and the
    messages' contents are the same; the result is all that is here of every row. A Source that is not a table in memory
    has no ids: its owner answers for the order of its rows.

    Raises ShareMismatchError (a party of the model without a channel), ColumnNameError, MessageError, PeerError, and
    what reading a Source or the engine raises (TableError, ColumnValueError, EngineError).
    """
    wanted = {party for party in share.parties if party != share.party}
    if set(channels) != wanted:
        raise ShareMismatchError(
            f"{share.party} predicting: found channels to {sorted(channels)}, wanted one to each of {sorted(wanted)}"
        )
    stage = share.private_stage if n_rounds is None and what != "leaves" else None
    if stage is not None:
        score_names(tuple(table.names), share.n_outputs)
    if n_rounds is None:
        n_rounds = share.n_rounds if share.best_iteration is None else share.best_iteration + 1
    n_trees, first_tree = min(n_rounds, share.n_rounds) * share.n_outputs, first_round * share.n_outputs
    resolve_threads(threads)
    with failure_told(channels.values()), split_tester(share.records, table, engine) as tester:
        leader = ActivePredictor(share, tester, _rows(table), channels, n_trees, hidden, first_tree, start)
        leader.open()
        predicted: NDArray[Any] = leader.leaves() if what == "leaves" else leader.margins()
        leader.close()
    if stage is not None:
        predicted = _private_margins(stage, table, predicted)
    return values_of(share, predicted) if what == "value" else predicted


def _private_margins(stage: ActiveShare, table: Table | Source, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Margins of the private last stage from those of the joint model, after the last message."""
    own = with_scores(as_table(table), margins)
    with split_tester(stage.records, own, None) as tester:
        return ActivePredictor(stage, tester, _rows(own), {}, len(stage.trees)).margins()


def values_of(share: ActiveShare, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the objective's link makes of margins: [n], or class probabilities [n, n_outputs]."""
    if share.objective == CUSTOM:
        return margins[:, 0] if share.n_outputs == 1 else margins
    return make_objective(TrainParams(objective=share.objective, num_class=share.n_outputs)).transform(margins)


def follow_prediction(
    share: PassiveShare,
    table: Table | Source,
    channel: Channel,
    accept: Callable[[OpenPrediction], None] | None = None,
    engine: Engine | None = None,
    hidden: HiddenSide | None = None,
) -> int:
    """Take part in one prediction of the rows of `table`; returns their number when the active party has closed it.

    `accept(opening)` is called before anything is answered, with the number of rows asked for (opening.n_rows) and the
    model's digest (opening.model); it raises ConsentError for what this party does not agree to, such as more rows than
    it allows. `engine`: see lead_prediction. `hidden`: hidden routing with the active party (connect_hidden_side);
    with it open predictions are refused, and without it hidden ones.

    Raises ShareMismatchError (another model), AlignmentError (other rows), MessageError, PeerError, and what reading a
    Source or the engine raises.
    """
    with failure_told([channel]), split_tester(share.records, table, engine) as tester:
        PassivePredictor(share, tester, _rows(table), channel, accept, hidden).run()
    return table.n_rows


def _rows(table: Table | Source) -> tuple[int, bytes]:
    """What parties compare of their rows: number and digest."""
    return table.n_rows, rows_digest(table.ids)
