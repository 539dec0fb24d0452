"""Oblivious transfer and punctured trees between two parties (README.md says what they are for and what they rest on).

holder = HolderSession("active")                       the party with secret leaves
owner = OwnerSession("passive 0", holder.offer)        the party that will know every leaf
holder.accept(owner.reply)
request = holder.request(place, leaves, holes)         once per block of rows
roots, corrections = owner.answer(place, leaves, rows, request)
copaths = holder.finish(place, corrections)
"""

from vfxgb.ot.group import ModpGroup, modp_group
from vfxgb.ot.session import HolderSession, OwnerSession
from vfxgb.ot.wire import Place

__all__ = ["HolderSession", "ModpGroup", "OwnerSession", "Place", "modp_group"]
