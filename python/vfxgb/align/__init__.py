"""Private set intersection: which rows all parties have, in one order (README.md says who learns what).

ids = read_ids("bank.csv", "customer", party="bank", normalise=("strip",))
active:    alignment = align_active("bank", [training, validation], {"shop": channel, ...}, AlignParams())
           alignment.positions[0]      rows of the training ids, in the agreed order
passive:   alignment = align_passive("shop", ids, channel, AlignParams())
           alignment.positions[0]      rows of all groups one after the other, in the same order
both:      alignment.digest            32 bytes, the same at all parties
scoring:   found = Asker("bank", {"shop": channel}, steps).ask(ids)
           Answerer("shop", ids, channel).serve(use)        use(rows): what to do with the rows of a question

Channels need a catalogue with ALIGN_MESSAGES.
"""

from vfxgb.align.active import align_active
from vfxgb.align.alignment import Alignment
from vfxgb.align.ids import Ids, join_ids, make_ids, read_ids
from vfxgb.align.lookup import Answerer, Asker
from vfxgb.align.messages import ALIGN_MESSAGES
from vfxgb.align.normalise import STEPS, check_steps
from vfxgb.align.params import AlignParams
from vfxgb.align.passive import align_passive

__all__ = [
    "ALIGN_MESSAGES",
    "STEPS",
    "AlignParams",
    "Alignment",
    "Answerer",
    "Asker",
    "Ids",
    "align_active",
    "align_passive",
    "check_steps",
    "join_ids",
    "make_ids",
    "read_ids",
]
