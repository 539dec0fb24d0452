"""The two sides of a joint prediction, each over channels that are there already.

    active party: lead_prediction(...)            passive party: follow_prediction(...)

One prediction is a conversation of its own (OpenPrediction to ClosePrediction); several may follow one another over one
channel. Both sides tell their peers when they fail, and raise.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from numpy.typing import NDArray

from vfxgb.data.table import Table
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.predict.messages import OpenPrediction
from vfxgb.transport.channel import Channel


def lead_prediction(
    share: ActiveShare,
    table: Table,
    channels: Mapping[str, Channel],
    n_rounds: int | None = None,
    what: Literal["margin", "value", "leaves"] = "margin",
    threads: int | None = None,
) -> NDArray[Any]:
    """Predict the rows of `table`, which are the same rows in the same order at every party.

    `channels`: to every passive party of the model; their catalogue holds PREDICTION_MESSAGES. `n_rounds`: use the
    first so many; None is best_iteration + 1 where early stopping set it, else all. `what`: "margin": float64[n,
    n_outputs]; "value": the same after the objective's link (probabilities, counts, values), float32[n, n_outputs];
    "leaves": int32[n, trees], the leaf of each row in each tree.

    Raises ShareMismatchError (a party of the model without a channel), ColumnNameError, MessageError, PeerError.
    """
    raise NotImplementedError


def follow_prediction(
    share: PassiveShare,
    table: Table,
    channel: Channel,
    accept: Callable[[OpenPrediction], None] | None = None,
    threads: int | None = None,
) -> int:
    """Take part in one prediction of the rows of `table`; returns their number when the active party has closed it.

    `accept(opening)` is called before anything is answered, with the number of rows asked for (opening.n_rows) and the
    model's digest (opening.model); it raises ConsentError for what this party does not agree to, such as more rows than
    it allows.

    Raises ShareMismatchError (another model), AlignmentError (other rows), MessageError, PeerError.
    """
    raise NotImplementedError
