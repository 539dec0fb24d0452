"""A passive party's side of alignment: it learns which of its ids all parties have, in the agreed order."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vfxgb.align import ecdh, kkrt
from vfxgb.align.alignment import Alignment, TagTable, ascending, rows_digest, tags_of
from vfxgb.align.blocks import blocks, check_bytes, check_first
from vfxgb.align.ids import Ids
from vfxgb.align.messages import AlignReady, CommonRows, CommonTags, OpenAlign, RowsAgreed
from vfxgb.align.overlap import overlap_hint
from vfxgb.align.params import BLOCK_IDS, KEY_BYTES, MAX_IDS, TAG_BYTES, AlignParams
from vfxgb.crypto.key_agreement import HybridKey
from vfxgb.errors import AlignmentError, MessageError
from vfxgb.threads import resolve_threads
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import unpack_array

MAX_PASSIVES = 1000
MAX_GROUPS = 1000


def align_passive(
    party: str,
    ids: Ids,
    channel: Channel,
    params: AlignParams | None = None,
    threads: int | None = None,
    accept: Callable[[int], None] | None = None,
    enough: Callable[[int], None] | None = None,
    may_be_none: bool = False,
) -> Alignment:
    """Take part in an alignment that the active party at the other end of `channel` leads.

    `accept(claimed)`: called with the number of ids that the active party says it has, before anything is allocated or
    answered; raises ConsentError for what this party does not agree to. `enough(common)`: called with the number of
    common ids of all groups together, where this party learns it before the active one learns anything (method
    "ecdh"); raises ConsentError for too few.

    Returns one array of positions: the rows of the common ids of all groups, in the agreed order; `sizes` says how many
    belong to each group. `may_be_none`: no common id is a result and no error, as in prediction; both sides must say
    so. Raises AlignmentError (no common id, other normalisation or parameters), MessageError, FrameError and PeerError.
    The channel stays open; abort it if the run ends here.
    """
    params, threads = params or AlignParams(), resolve_threads(threads)
    step = f"{party} aligning ids with {channel.peer}"
    if not 1 <= len(ids) <= MAX_IDS:
        raise AlignmentError(f"{party} aligning ids: found {len(ids)} ids, wanted 1 to {MAX_IDS}")
    opened = channel.recv(OpenAlign)
    _check_open(opened, ids, params, party, step)
    if accept is not None:
        accept(opened.n_ids)
    method = params.choose(opened.n_ids, len(ids), opened.n_passives)
    # Passive parties share keys with each other, if there are others.
    agreement = HybridKey() if opened.n_passives > 1 else None
    public = b"" if agreement is None else agreement.public
    channel.send(AlignReady(method=method, n_ids=len(ids), public=public))
    if method == "ecdh":
        ecdh.compare_passive(ids, opened.n_ids, channel, enough)
    else:
        kkrt.compare_passive(ids, opened.n_ids, opened.n_passives, agreement, channel, params, threads)
    return _find(ids, opened.n_ids, channel, party, step, may_be_none)


def _check_open(opened: OpenAlign, ids: Ids, params: AlignParams, party: str, step: str) -> None:
    check_bytes(opened.steps, 32, f"{step}: digest of the normalisation")
    if not 1 <= opened.n_ids <= MAX_IDS or not 1 <= opened.n_passives <= MAX_PASSIVES:
        raise MessageError(
            f"{step}: found {opened.n_ids} ids and {opened.n_passives} passive parties, wanted 1 to {MAX_IDS} and 1 to "
            f"{MAX_PASSIVES}"
        )
    if opened.steps != ids.steps_digest:
        raise AlignmentError(
            f"{step}: the ids are normalised by other steps there than here ({', '.join(ids.steps) or 'none'}); agree "
            "on one list and write it into both configurations"
        ).for_peer()
    if (opened.method, opened.group_bits) != (params.method, params.group_bits):
        raise AlignmentError(
            f"{step}: found method {opened.method!r} with {opened.group_bits} bits there, and {params.method!r} with "
            f"{params.group_bits} here; write the same [align] section into both configurations"
        ).for_peer()
    params.check_parties(party, opened.n_passives)


def _find(ids: Ids, n_active: int, channel: Channel, party: str, step: str, may_be_none: bool) -> Alignment:
    """The rows of the common ids, from their tags."""
    told = channel.recv(CommonRows)
    check_bytes(told.key, KEY_BYTES, f"{step}: key of the tags")
    check_bytes(told.digest, 32, f"{step}: digest of the rows")
    total = sum(told.sizes)
    if not 1 <= len(told.sizes) <= MAX_GROUPS or min(told.sizes) < 0 or total > min(n_active, len(ids)):
        raise MessageError(
            f"{step}: found {total} common ids in {len(told.sizes)} group(s), wanted at most {min(n_active, len(ids))} "
            f"in 1 to {MAX_GROUPS}"
        )
    tags = np.empty((total, TAG_BYTES), dtype=np.uint8)
    for block in blocks(total, BLOCK_IDS):
        message = channel.recv(CommonTags)
        check_first(message.first, block.start, step)
        tags[block] = unpack_array(message.tags, np.uint8, (block.stop - block.start, TAG_BYTES), step)
    if not told.sizes[0] and not may_be_none:
        raise AlignmentError(
            f"{party} aligning ids: found no id in common; {channel.peer} had {n_active}, {party} {len(ids)}; compare "
            "the id columns and the normalisation of all parties"
        ).for_peer()
    positions = TagTable(tags_of(told.key, ids.digests)).find(tags)
    _check_order(positions, tags, told.sizes, step)
    digest = rows_digest(told.key, told.sizes, ids.digests[positions])
    if digest != told.digest:
        raise AlignmentError(f"{step}: found another digest of the common rows there, wanted the same; start again")
    channel.send(RowsAgreed(digest=digest))
    return Alignment((positions,), tuple(told.sizes), digest, overlap_hint(total, len(ids), n_active))


def _check_order(positions: NDArray[np.int64], tags: NDArray[np.uint8], sizes: list[int], step: str) -> None:
    unknown = int((positions < 0).sum())
    if unknown:
        raise AlignmentError(f"{step}: found {unknown} common ids that are not here, wanted none; start again")
    if len(np.unique(positions)) != len(positions):
        raise MessageError(f"{step}: found a common id twice, wanted each once")
    first = 0
    for size in sizes:
        if not ascending(tags[first : first + size]):
            raise MessageError(f"{step}: the tags of a group do not ascend; the peer deviates from the agreed order")
        first += size
