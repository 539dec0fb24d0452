"""Oblivious transfer and punctured trees between two parties (README.md says what they are for and what they rest on).

Transfers in batches, after base transfers:

    receiver = Receiver("bank", session, pairs, settings)  the party that chooses
    sender = Sender("shop", session, delta, seeds, settings)
    request, own = receiver.request(place, count)          once per batch
    batch = sender.answer(place, count, request)

Trees of masks, base transfers included:

    owner = OwnerSession("passive 0")                      the party that will know every leaf
    holder = HolderSession("active", owner.greeting)       the party with secret leaves
    holder.accept(owner.reply(holder.offer))
    request = holder.request(place, leaves, holes)         once per block of rows
    roots, corrections = owner.answer(place, leaves, rows, request)
    copaths = holder.finish(place, corrections)
"""

from vfxgb.ot.batch import ReceiverBatch, SenderBatch
from vfxgb.ot.group import ModpGroup, modp_group
from vfxgb.ot.session import HolderSession, OwnerSession
from vfxgb.ot.silent import Kind, SilentReceiver, SilentSender, receiver_of_kind, sender_of_kind
from vfxgb.ot.stock import ReceiverStock, SenderStock
from vfxgb.ot.transfer_bits import DEFAULT_TRANSFER_BITS, MAX_TRANSFER_BITS, choose_k, measured_aes_speed
from vfxgb.ot.transfers import Receiver, Sender, TransferSettings
from vfxgb.ot.wire import Place

__all__ = [
    "DEFAULT_TRANSFER_BITS",
    "MAX_TRANSFER_BITS",
    "HolderSession",
    "Kind",
    "ModpGroup",
    "OwnerSession",
    "Place",
    "Receiver",
    "ReceiverBatch",
    "ReceiverStock",
    "Sender",
    "SenderBatch",
    "SenderStock",
    "SilentReceiver",
    "SilentSender",
    "TransferSettings",
    "choose_k",
    "measured_aes_speed",
    "modp_group",
    "receiver_of_kind",
    "sender_of_kind",
]
