"""Hidden predictions of the models of prediction_runs within one process, and what passes the channels."""

from collections.abc import Callable
from typing import Any

import numpy as np

from vfxgb.data.table import Table
from vfxgb.predict.hidden_answers import connect_hidden_side
from vfxgb.predict.hidden_line import HiddenLines, connect_hidden
from vfxgb.predict.messages import HIDDEN_PREDICTION_MESSAGES
from vfxgb.predict.sides import follow_prediction, lead_prediction
from vfxgb.routing import RoutingSettings
from vfxgb.train.simulate import FitResult
from vfxgb.transport.channel import Channel, Observer, memory_channels
from vfxgb.transport.messages import Catalogue, Message
from vfxgb.transport.threads import PartyThread, run_together

Lead = Callable[[dict[str, Channel], HiddenLines], Any]
# (party, whether it sent the message, the message)
Seen = list[tuple[str, bool, Message]]


def hidden_session(
    result: FitResult,
    tables: dict[str, Table],
    lead: Lead,
    times: int = 1,
    stock_rows: int = 0,
    settings: RoutingSettings | None = None,
    seen: Seen | None = None,
) -> tuple[Any, dict[str, Channel]]:
    """What `lead` returns with hidden routing to all passive parties, each of which follows `times` predictions."""
    catalogue = Catalogue(HIDDEN_PREDICTION_MESSAGES)
    channels, others = {}, {}

    def observer(party: str) -> Observer:
        def note(sender: str, receiver: str, message: Message, size: int) -> None:
            if seen is not None:
                seen.append((party, sender == party, message))

        return note

    def follow(party: str, channel: Channel) -> None:
        side = connect_hidden_side(channel, 1)
        for _ in range(times):
            follow_prediction(result.passive_shares[party], tables[party], channel, hidden=side)

    for party in result.passive_shares:
        channels[party], theirs = memory_channels("bank", party, catalogue, bytes(16), observer(party), timeout=60.0)
        others[party] = PartyThread(party, lambda p=party, c=theirs: follow(p, c), theirs)

    def led() -> Any:
        lines = connect_hidden(result.active_share, channels, settings or RoutingSettings(threads=1), stock_rows)
        return lead(channels, lines)

    return run_together(led, channels, others), channels


def hidden_margins(result: FitResult, tables: dict[str, Table], **more: Any) -> tuple[np.ndarray, dict[str, Channel]]:
    """Margins of one hidden prediction, and the channels it went through."""

    def lead(channels: dict[str, Channel], lines: HiddenLines) -> np.ndarray:
        return lead_prediction(result.active_share, tables["bank"], channels, hidden=lines)

    return hidden_session(result, tables, lead, **more)
