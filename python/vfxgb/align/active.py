"""The active party's side of alignment: it learns which of its ids all parties have, and tells them the order."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.align import ecdh, kkrt
from vfxgb.align.alignment import Alignment, rows_digest, tag_order, tags_of
from vfxgb.align.blocks import Progress, blocks, check_bytes
from vfxgb.align.ids import Ids, refuse_duplicates
from vfxgb.align.messages import AlignReady, CommonRows, CommonTags, OpenAlign, RowsAgreed
from vfxgb.align.overlap import overlap_hint
from vfxgb.align.params import BLOCK_IDS, KEY_BYTES, MAX_IDS, AlignParams
from vfxgb.crypto.key_agreement import HYBRID_PUBLIC_BYTES
from vfxgb.errors import AlignmentError, MessageError
from vfxgb.threads import resolve_threads
from vfxgb.transport.channel import Channel, broadcast
from vfxgb.transport.messages import pack_array


def align_active(
    party: str,
    groups: Sequence[Ids],
    channels: Mapping[str, Channel],
    params: AlignParams | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    may_be_none: bool = False,
) -> Alignment:
    """Find the ids that this party and all passive parties have, and agree on their order.

    groups: ids of the training rows, validation rows, ...; no id may stand in two of them. The common ids of the first
    come first. channels: one per passive party, by name. progress: called with (step, done, total). Returns one array
    of positions per group, possibly empty but for the first; `may_be_none`: the first may be empty too, which is a
    result in prediction and an error in training.

    Raises AlignmentError (no common id in the first group, ids twice, other normalisation at a peer), MessageError,
    FrameError and PeerError. The channels stay open; abort them if the run ends here.
    """
    params = params or AlignParams()
    digests = _check(party, groups, channels, params)
    ready = _open(party, groups[0].steps_digest, len(digests), channels, params)
    common = _compare(digests, channels, ready, params, resolve_threads(threads), progress)
    key = _native.rand.random_bytes(KEY_BYTES)
    positions, order = [], []
    first = 0
    for ids in groups:
        rows = np.flatnonzero(common[first : first + len(ids)])
        rows = rows[tag_order(tags_of(key, ids.digests[rows]))]
        positions.append(rows)
        order.append(first + rows)
        first += len(ids)
    agreed = digests[np.concatenate(order)]
    sizes = [len(rows) for rows in positions]
    hint = overlap_hint(sum(sizes), len(digests), min(message.n_ids for message in ready.values()))
    alignment = Alignment(tuple(positions), tuple(sizes), rows_digest(key, sizes, agreed), hint)
    _tell(key, alignment, agreed, channels)
    if not sizes[0] and not may_be_none:
        counts = ", ".join(f"{peer} {message.n_ids}" for peer, message in ready.items())
        raise AlignmentError(
            f"{party} aligning ids: found no id of the first group that all parties have; {party} had "
            f"{len(groups[0])} there, {counts}; compare the id columns and the normalisation of all parties"
        )
    for peer, channel in channels.items():
        _confirm(party, peer, channel.recv(RowsAgreed).digest, alignment.digest)
    return alignment


def _check(
    party: str, groups: Sequence[Ids], channels: Mapping[str, Channel], params: AlignParams
) -> NDArray[np.uint8]:
    """The ids of all groups, one after the other, if they can be aligned."""
    step = f"{party} aligning ids"
    if not channels:
        raise AlignmentError(f"{step}: there is no other party; name at least one")
    if not groups or not len(groups[0]):
        raise AlignmentError(f"{step}: found no ids, wanted at least one; is the table empty?")
    params.check_parties(party, len(channels))
    if len({ids.steps for ids in groups}) > 1:
        raise AlignmentError(f"{step}: the groups were normalised by different steps, wanted the same for all")
    total = sum(len(ids) for ids in groups)
    if total > MAX_IDS:
        raise AlignmentError(
            f"{step}: found {total} ids, wanted at most {MAX_IDS}, for which wrong matches stay improbable; train on "
            "fewer rows"
        )
    if len(groups) > 1:
        refuse_duplicates(groups, step)
    return np.concatenate([ids.digests for ids in groups])


def _open(
    party: str, steps: bytes, n_ids: int, channels: Mapping[str, Channel], params: AlignParams
) -> dict[str, AlignReady]:
    """The passive parties' first answers, checked, by party."""
    opening = OpenAlign(
        method=params.method, group_bits=params.group_bits, n_ids=n_ids, n_passives=len(channels), steps=steps
    )
    broadcast(list(channels.values()), opening)
    answers = {}
    for peer, channel in channels.items():
        step = f"{party} aligning ids with {peer}"
        ready = answers[peer] = channel.recv(AlignReady)
        if not 1 <= ready.n_ids <= MAX_IDS:
            raise MessageError(f"{step}: found {ready.n_ids} ids, wanted 1 to {MAX_IDS}")
        method = params.choose(n_ids, ready.n_ids, len(channels))
        if ready.method != method:
            raise MessageError(
                f"{step}: found method {ready.method!r}, wanted {method!r}; use the same version everywhere"
            )
        check_bytes(ready.public, HYBRID_PUBLIC_BYTES if len(channels) > 1 else 0, f"{step}: public key")
    return answers


def _compare(
    digests: NDArray[np.uint8],
    channels: Mapping[str, Channel],
    ready: Mapping[str, AlignReady],
    params: AlignParams,
    threads: int,
    progress: Progress | None,
) -> NDArray[np.bool_]:
    peer = next(iter(channels))
    if ready[peer].method == "ecdh":
        return ecdh.compare_active(digests, ready[peer].n_ids, channels[peer], progress)
    return kkrt.compare_active(digests, channels, ready, params, threads, progress)


def _tell(key: bytes, alignment: Alignment, agreed: NDArray[np.uint8], channels: Mapping[str, Channel]) -> None:
    """Send the tags of the common ids, in their order, to all."""
    tags = tags_of(key, agreed)
    for channel in channels.values():
        channel.send(CommonRows(key=key, sizes=list(alignment.sizes), digest=alignment.digest))
        for block in blocks(len(tags), BLOCK_IDS):
            channel.send(CommonTags(first=block.start, tags=pack_array(tags[block])))


def _confirm(party: str, peer: str, digest: bytes, wanted: bytes) -> None:
    if digest != wanted:
        raise AlignmentError(
            f"{party} aligning ids with {peer}: found another digest of the common rows there, wanted the same; start "
            "again, and look for different versions of vfxgb"
        )
