"""Comparing ids by a programmed OPRF, for two and more parties (Kolesnikov et al., CCS 2016 and CCS 2017).

The active party places its ids x in bins and evaluates, with each passive party k, that party's OPRF F_k at them. Party
k programs a store (cpp/psi/store.h) with F_k(y) ^ z_k(y) for each of its ids y. The z_k add up to 0 over the passive
parties (zero_shares.py). So the active party gets z_k(x) = F_k(x) ^ (the store's value) where k has x, and something
random where not, and these add up to 0 only if all passive parties have x. With one of them z is 0.

    active  -> greeting   passive -> offer      active -> reply, table key, public keys      passive -> choices
    active  -> seeds; rows of all bins, in blocks      passive -> the store, in blocks

With several passive parties the choices carry ciphertexts, which the active party passes on before the seeds.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.align.blocks import Progress, blocks, check_bytes, check_first
from vfxgb.align.ids import Ids
from vfxgb.align.messages import (
    AlignKeys,
    AlignReady,
    BaseGreeting,
    BaseOffer,
    CodeChoices,
    CodeRows,
    CodeSeeds,
    Hint,
    PassedCiphertexts,
)
from vfxgb.align.oprf import ActiveEnd, PassiveEnd
from vfxgb.align.params import (
    BLOCK_GROUPS,
    CODE_BYTES,
    GROUP,
    HASHES,
    KEY_BYTES,
    MAX_TRIES,
    STORE_BLOCK,
    AlignParams,
    bin_count,
)
from vfxgb.align.zero_shares import ZeroShares, check_ciphertexts, pass_on_ciphertexts
from vfxgb.crypto.key_agreement import HybridKey
from vfxgb.errors import AlignmentError, MessageError
from vfxgb.ot.group import modp_group
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import pack_array, pack_bytes, unpack_array

_NO_ENTRY = np.uint32(0xFFFFFFFF)


def compare_active(
    digests: NDArray[np.uint8],
    channels: Mapping[str, Channel],
    ready: Mapping[str, AlignReady],
    params: AlignParams,
    threads: int,
    progress: Progress | None,
) -> NDArray[np.bool_]:
    """Which of the ids uint8[n, 16] all peers have."""
    own = next(iter(channels.values())).own
    key, table = _place(digests, threads, own)
    publics = [message.public for message in ready.values()]
    group = modp_group(params.group_bits, params.insecure)
    ends = {}
    for peer, channel in channels.items():
        ends[peer] = ActiveEnd(group, threads)
        channel.send(BaseGreeting(greeting=ends[peer].greeting))
    for place, (peer, channel) in enumerate(channels.items()):
        reply = ends[peer].reply(channel.recv(BaseOffer).offer, f"{own} comparing ids with {peer}")
        channel.send(AlignKeys(reply=reply, publics=publics, place=place, table_key=key))
    used = np.flatnonzero(table != _NO_ENTRY)
    sums = np.zeros(len(used), dtype=np.uint64)
    choices = _receive_choices(channels, own)
    if len(channels) > 1:
        pass_on_ciphertexts(channels, [choices[peer].ciphertexts for peer in channels])
    for peer, channel in channels.items():
        receiver = ends[peer].finish(choices[peer].u, f"{peer}, comparing ids at {own}")
        channel.send(CodeSeeds(opening=pack_bytes(receiver.opening)))
        sums ^= _send_rows(receiver, digests, table, channel, threads, progress)[used]
    for peer, channel in channels.items():
        sums ^= _receive_store(digests, table[used], ready[peer].n_ids, channel, threads, progress)
    common = np.zeros(len(digests), dtype=np.bool_)
    common[table[used] // HASHES] = sums == 0
    return common


def _receive_choices(channels: Mapping[str, Channel], own: str) -> dict[str, CodeChoices]:
    choices = {}
    for place, (peer, channel) in enumerate(channels.items()):
        step = f"{own} comparing ids with {peer}"
        choices[peer] = channel.recv(CodeChoices)
        check_ciphertexts(choices[peer].ciphertexts, len(channels) - 1 - place, step)
    return choices


def _place(digests: NDArray[np.uint8], threads: int, own: str) -> tuple[bytes, NDArray[np.uint32]]:
    """A key under which all ids find a bin, and the entry of each bin."""
    for _ in range(MAX_TRIES):
        key = _native.rand.random_bytes(KEY_BYTES)
        table = _native.psi.cuckoo_table(digests, key, bin_count(len(digests)), threads)
        if table is not None:
            return key, table
    raise AlignmentError(
        f"{own} aligning ids: {len(digests)} ids found no place in {bin_count(len(digests))} bins under {MAX_TRIES} "
        "keys; that does not happen by chance: report it"
    )


def _send_rows(
    receiver: _native.psi.OprfReceiver,
    digests: NDArray[np.uint8],
    table: NDArray[np.uint32],
    channel: Channel,
    threads: int,
    progress: Progress | None,
) -> NDArray[np.uint64]:
    """Send the masked code words of all bins; returns the OPRF's value in each bin."""
    values = np.empty(len(table), dtype=np.uint64)
    for block in blocks(len(table) // GROUP, BLOCK_GROUPS):
        bins = slice(GROUP * block.start, GROUP * block.stop)
        u, values[bins] = receiver.mask(block.start, digests, table[bins], threads)
        channel.send(CodeRows(first=block.start, u=pack_bytes(u)))
        if progress is not None:
            progress(f"comparing ids with {channel.peer}", bins.stop, len(table))
    return values


def _receive_store(
    digests: NDArray[np.uint8],
    entries: NDArray[np.uint32],
    n_passive: int,
    channel: Channel,
    threads: int,
    progress: Progress | None,
) -> NDArray[np.uint64]:
    """What the peer's store holds for the entries."""
    step = f"{channel.own} comparing ids with {channel.peer}"
    store = np.empty(_native.psi.store_size(HASHES * n_passive), dtype=np.uint64)
    seed = b""
    for block in blocks(len(store), STORE_BLOCK):
        hint = channel.recv(Hint)
        check_first(hint.first, block.start, step)
        check_bytes(hint.seed, KEY_BYTES, f"{step}: seed of the store")
        if block.start and hint.seed != seed:
            raise MessageError(f"{step}: found another seed in a later block of the store, wanted one for all")
        seed = hint.seed
        store[block] = unpack_array(hint.values, np.uint64, (block.stop - block.start,), step)
        if progress is not None:
            progress(f"receiving hints of {channel.peer}", block.stop, len(store))
    return _native.psi.store_decode(seed, digests, entries, HASHES * n_passive, store, threads)


def compare_passive(
    ids: Ids,
    n_active: int,
    n_passives: int,
    agreement: HybridKey | None,
    channel: Channel,
    params: AlignParams,
    threads: int,
) -> None:
    """Let the peer, who has `n_active` ids, learn which of them this and all other passive parties have."""
    step = f"{channel.own} comparing ids with {channel.peer}"
    group = modp_group(params.group_bits, params.insecure)
    end = PassiveEnd(channel.recv(BaseGreeting).greeting, group, threads, step)
    channel.send(BaseOffer(offer=end.offer))
    keys = channel.recv(AlignKeys)
    check_bytes(keys.table_key, KEY_BYTES, f"{step}: key of the bins")
    shares = ZeroShares(agreement, keys.publics, keys.place, n_passives, step)
    request = end.request(keys.reply, channel.peer, step)
    channel.send(CodeChoices(u=pack_bytes(request), ciphertexts=pack_bytes(shares.ciphertexts)))
    if n_passives > 1:
        shares.open(channel.recv(PassedCiphertexts).ciphertexts)
    zero = shares.of(ids.digests)
    sender = end.open(channel.recv(CodeSeeds).opening, step)
    values = np.empty(HASHES * len(ids), dtype=np.uint64)
    bins = bin_count(n_active)
    order, offsets = _native.psi.bin_order(ids.digests, keys.table_key, bins, threads)
    for block in blocks(bins // GROUP, BLOCK_GROUPS):
        rows = channel.recv(CodeRows)
        check_first(rows.first, block.start, step)
        wanted = (block.stop - block.start) * GROUP * CODE_BYTES
        if len(rows.u) != wanted:
            raise MessageError(f"{step}: found {len(rows.u)} bytes of rows, wanted {wanted}")
        sender.evaluate(block.start, rows.u, ids.digests, order, offsets, values, threads)
    values.reshape(len(ids), HASHES)[:] ^= zero[:, np.newaxis]
    seed, store = _encode(ids, values, threads, channel.own)
    for block in blocks(len(store), STORE_BLOCK):
        channel.send(Hint(seed=seed, first=block.start, values=pack_array(store[block])))


def _encode(ids: Ids, values: NDArray[np.uint64], threads: int, own: str) -> tuple[bytes, NDArray[np.uint64]]:
    """A seed and the store of the values under it."""
    for _ in range(MAX_TRIES):
        seed = _native.rand.random_bytes(KEY_BYTES)
        store = _native.psi.store_encode(seed, ids.digests, values, threads)
        if store is not None:
            return seed, store
    raise AlignmentError(
        f"{own} aligning ids: {len(values)} values fit no store under {MAX_TRIES} seeds; that does not happen by "
        "chance: report it"
    )
