"""Hidden routing: which way rows go at a passive party's splits, without telling it which rows are asked about.

    receiver = connect_receivers({"shop": channel}, settings)["shop"]   the active party: it takes bits
    sender = connect_sender(channel)                                    the passive party: it has them
    level = Level(np.array([3, 1], dtype=np.int32))                     at this level 3 splits in one tree, 1 in another
    question, asked = receiver.ask(level, wanted)                       wanted: one of the splits for each row, or none
    sent = sender.answer(level, rows, question, bits)                   all bits of all rows, masked
    taken = asked.read(sent)                                            those that were wanted

README.md says what each party learns, and why no more.
"""

from vfxgb.routing.level import Level
from vfxgb.routing.messages import ROUTING_MESSAGES
from vfxgb.routing.receiver import Asked, Question, RoutingReceiver
from vfxgb.routing.sender import RoutingSender
from vfxgb.routing.setup import RoutingSettings, connect_receivers, connect_sender

__all__ = [
    "ROUTING_MESSAGES",
    "Asked",
    "Level",
    "Question",
    "RoutingReceiver",
    "RoutingSender",
    "RoutingSettings",
    "connect_receivers",
    "connect_sender",
]
