"""What each side of a training keeps after every round, so that a run that broke off goes on where it stood.

A state holds everything the rest of the run depends on and cannot be made again from data and settings: trees and
records, margins to the last bit, what was released under differential privacy, the salts of the digests. It is private
to the party that wrote it: the active party's holds leaf weights and margins, a passive party's its splits.

Each side writes its own after every round, the passive parties first (messages.EndRound, RoundKept). So a passive party
is never behind the active one, and at most one round ahead; when a run resumes it goes back to the round the active
party names. Both compare digests of what they have before anything else happens (digests.py).

A file is

    magic, version, kind | msgpack | SHA-256 of everything before

written atomically and readable by its owner only.
"""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.data.categories import Split
from vfxgb.dp.event import Event
from vfxgb.errors import CheckpointError, FormatError
from vfxgb.files import write_atomically
from vfxgb.model.file import check_tree
from vfxgb.model.shares import TreeShape
from vfxgb.runtime.ledger import Entry
from vfxgb.train.callbacks import EvalsLog

# Where a passive party's split stands: tree, depth, and the split of the same party above it (SplitPaths).
Place: TypeAlias = tuple[int, int, int]

MAGIC = b"VFXGBRUN"
VERSION = 3
DIGEST_BYTES = 32


# A TreeShape: the little-endian bytes of each of its arrays, by name.
KeptTree: TypeAlias = dict[str, bytes]


class KeptRecords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A party's splits: feature int32, cut float64, default_left one byte each; arrays as little-endian bytes.

    `places`: int32[r, 3], tree, depth and the split above (SplitPaths) of a passive party's; empty for the active one.
    `sets`: int32, for each split the number of categories that go right and their codes; empty where all splits are by
    cut points. The cut of a split by categories is 0, and its number is not.
    """

    feature: bytes
    cut: bytes
    default_left: bytes
    places: bytes = b""
    sets: bytes = b""


class KeptArray(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An array of numbers: kind and bytes of one ("u2"), shape, and all of them little-endian."""

    kind: str
    shape: tuple[int, ...]
    data: bytes

    @classmethod
    def of(cls, array: NDArray[Any]) -> "KeptArray":
        """The array as a state holds it."""
        return cls(f"{array.dtype.kind}{array.dtype.itemsize}", array.shape, array_bytes(array))

    def restore(self, what: str) -> NDArray[Any]:
        """The array, writable. Raises CheckpointError, naming `what`, for bytes that are none."""
        if self.kind not in _KINDS:
            raise CheckpointError(f"{what}: found an array of {self.kind!r}, wanted one of {', '.join(_KINDS)}")
        dtype = np.dtype(self.kind).type
        return read_array(self.data, dtype, what, math.prod(self.shape)).reshape(self.shape)


_KINDS = ("u1", "u2", "u4", "i4", "i8", "f4", "f8")


class KeptRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Gradients of a round that were replaced under differential privacy: per output int64[n_train, 2], and their step.

    Kept before anything of them is sent: a round that is grown again is grown from the same release.
    """

    round: int
    step: float
    pairs: list[bytes]


class RunState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What both sides keep of run `run`, and how they know it again: digests of settings and data (digests.py).

    `salt` is that of the party's digests, `ledger` holds the totals so far. `pace` is added by who stores the state.
    `chosen` are the settings whose digest is `settings`, to say what differs when they change; it is empty in files of
    versions that did not keep them.
    """

    run: str
    party: str
    protocol: str
    settings: bytes
    data: bytes
    salt: str
    records: KeptRecords
    events: list[Event]
    ledger: list[Entry]
    pace: dict[str, list[float]] = {}
    chosen: dict[str, Any] = {}


class ActiveState(RunState, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the active party keeps of a run after `rounds` rounds.

    `stopped` says that a callback ended the training, and only the sealing is left. `trees_digest` is the digest of the
    trees so far, and `passive` maps each party to the digest of its last RoundKept. `margins` are float32[n_rows,
    n_outputs]. `labels` are float32[n_train], what was released in place of the labels, or None if nothing was.
    `release` is what was released for the round to come. `first_rows` (int64, rows per node) and `first_rate` belong to
    the very first tree. `opened_equations` counts the equations of each passive party so far (contract.equations_of).

    Two fields are added by who stores the state: `source`, where the rows come from and how they are read, and
    `best_margins`, the margins as they were after the best round, which are empty while that is the last round.
    """

    KIND: ClassVar[bytes] = b"active\0"

    rounds: int
    stopped: bool
    trees_digest: bytes
    passive: dict[str, bytes]
    trees: list[KeptTree]
    margins: bytes
    labels: bytes | None
    release: KeptRelease | None
    evals_log: EvalsLog
    best_iteration: int | None
    best_score: float | None
    learning_rate: float
    first_rows: bytes | None
    first_rate: float
    opened_equations: dict[str, int]
    source: dict[str, Any] = {}
    best_margins: bytes = b""


class RoundMark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a passive party stood after a round: records until then, digests of both sides."""

    round: int
    n_records: int
    trees_digest: bytes
    state_digest: bytes


class BegunRounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rounds that a passive party has begun to answer, whether they came to their end or not.

    `total` counts all of them, `again` those that had been begun before. `furthest` is the highest round, -1 before the
    first.
    """

    total: int = 0
    again: int = 0
    furthest: int = -1

    def begin(self, round_index: int) -> "BegunRounds":
        """Count one more round."""
        repeated = round_index <= self.furthest
        return BegunRounds(self.total + 1, self.again + repeated, max(self.furthest, round_index))


class PassiveState(RunState, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a passive party keeps of a run: its records, and a mark for every round it has taken part in.

    `releases`: what its role released under differential privacy and must never draw again (releases.py).
    `begun`, `disclosed` (contract.Disclosed by field) and `ledger` count everything that was shown, rounds that broke
    off included.
    """

    KIND: ClassVar[bytes] = b"passive"

    marks: list[RoundMark]
    releases: dict[str, KeptArray]
    begun: BegunRounds
    disclosed: dict[str, int]


S = TypeVar("S", ActiveState, PassiveState)


def save_state(state: ActiveState | PassiveState, path: str | Path) -> None:
    """Write a state to `path`; after a crash the file holds the old state or this one. Raises OSError."""
    data = MAGIC + bytes([VERSION]) + state.KIND + msgspec.msgpack.encode(state)
    write_atomically(Path(path), data, hashlib.sha256(data).digest())


def load_state(kind: type[S], path: str | Path) -> S | None:
    """The state of that kind in a file, None if there is no file.

    Raises CheckpointError for a file that is damaged, of another version or of the other side; OSError.
    """
    where = f"reading the checkpoint {str(path)!r}"
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    head = MAGIC + bytes([VERSION]) + kind.KIND
    if data[: len(MAGIC)] != MAGIC or len(data) < len(head) + DIGEST_BYTES:
        raise CheckpointError(
            f"{where}: it is no checkpoint of vfxgb, or truncated; name the right file, or start anew"
        )
    if data[len(MAGIC)] != VERSION:
        raise CheckpointError(
            f"{where}: found version {data[len(MAGIC)]}, wanted {VERSION}; resume with the vfxgb that wrote it"
        )
    if data[: len(head)] != head:
        raise CheckpointError(f"{where}: it is one of the other side, wanted one of the {_side(kind)} party")
    body = memoryview(data)[:-DIGEST_BYTES]
    if hashlib.sha256(body).digest() != data[-DIGEST_BYTES:]:
        raise CheckpointError(f"{where}: it is truncated or damaged; restore a copy, or start a new run").for_peer(
            "its checkpoint of the run is damaged; it must restore a copy, or start a new run"
        )
    try:
        return msgspec.msgpack.decode(body[len(head) :], type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise CheckpointError(f"{where}: it is malformed: {error}; restore a copy, or start a new run") from None


def _side(kind: type[ActiveState] | type[PassiveState]) -> str:
    return kind.KIND.rstrip(b"\0").decode()


_TREE_TYPES: dict[str, type[np.generic]] = {
    "party": np.int16,
    "record": np.int32,
    "left": np.int32,
    "right": np.int32,
    "parent": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "cover": np.float64,
}


def array_bytes(array: NDArray[np.generic]) -> bytes:
    """The bytes of an array, little-endian and C-ordered."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def read_array(data: bytes, dtype: type[np.generic], what: str, count: int | None = None) -> NDArray[Any]:
    """The array, writable; `count`: entries wanted, None for any number. Raises CheckpointError, naming `what`."""
    size = np.dtype(dtype).itemsize
    if len(data) % size or (count is not None and len(data) != count * size):
        wanted = "a whole number of entries" if count is None else f"{count} entries"
        raise CheckpointError(f"resuming: {what} has {len(data)} bytes, wanted {wanted} of {size} bytes each")
    return np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<")).astype(dtype)


def keep_tree(tree: TreeShape) -> KeptTree:
    """A tree as a state holds it."""
    return {name: array_bytes(getattr(tree, name)) for name in _TREE_TYPES}


def restore_tree(kept: KeptTree, n_parties: int) -> TreeShape:
    """The tree. Raises CheckpointError for arrays that are none."""
    if kept.keys() != _TREE_TYPES.keys():
        raise CheckpointError(f"resuming: a tree has arrays {sorted(kept)}, wanted {sorted(_TREE_TYPES)}")
    tree = TreeShape(**{name: read_array(kept[name], kind, "a tree") for name, kind in _TREE_TYPES.items()})
    try:
        check_tree(tree, n_parties, "resuming")
    except FormatError as error:
        raise CheckpointError(str(error)) from None
    return tree


def keep_records(records: Sequence[Split], places: Sequence[Place] = ()) -> KeptRecords:
    """Records (feature, cut, default_left) as a state holds them; those of a passive party come with their `places`."""
    feature, way, default_left = zip(*records, strict=True) if records else ((), (), ())
    cut = [0.0 if isinstance(each, tuple) else each for each in way]
    sets = [each if isinstance(each, tuple) else () for each in way]
    codes = [number for each in sets for number in (len(each), *each)] if any(sets) else []
    return KeptRecords(
        array_bytes(np.array(feature, dtype=np.int32)),
        array_bytes(np.array(cut, dtype=np.float64)),
        array_bytes(np.array(default_left, dtype=np.uint8)),
        array_bytes(np.array(places, dtype=np.int32)),
        array_bytes(np.array(codes, dtype=np.int32)),
    )


def restore_places(kept: KeptRecords, n_records: int) -> list[Place]:
    """Where the records of a passive party stand in the trees. Raises CheckpointError for another number of them."""
    places = read_array(kept.places, np.int32, "the places of records", 3 * n_records).reshape(-1, 3)
    return [(tree, depth, above) for tree, depth, above in places.tolist()]


def restore_records(kept: KeptRecords, n_features: int) -> list[Split]:
    """The records. Raises CheckpointError for arrays of different lengths or features that do not exist."""
    feature = read_array(kept.feature, np.int32, "the features of records")
    cut = read_array(kept.cut, np.float64, "the cuts of records", len(feature))
    default_left = read_array(kept.default_left, np.uint8, "the directions of records", len(feature))
    if len(feature) and not 0 <= int(feature.min()) <= int(feature.max()) < n_features:
        raise CheckpointError(f"resuming: the records name features outside the {n_features} of this party")
    ways = _restore_sets(kept.sets, cut.tolist())
    return list(zip(feature.tolist(), ways, default_left.astype(np.bool_).tolist(), strict=True))


def _restore_sets(data: bytes, cuts: list[float]) -> list[float | tuple[int, ...]]:
    """The cut point of each split, or its categories. Raises CheckpointError."""
    ways: list[float | tuple[int, ...]] = list(cuts)
    numbers = read_array(data, np.int32, "the categories of records").tolist()
    place = 0
    for record in range(len(cuts) if numbers else 0):
        count = numbers[place] if place < len(numbers) else -1
        codes = tuple(numbers[place + 1 : place + 1 + count]) if count > 0 else ()
        if count < 0 or len(codes) != count or any(code < 0 for code in codes):
            raise CheckpointError("resuming: the categories of its records are not those of its splits")
        if count:
            ways[record] = codes
        place += 1 + count
    if place != len(numbers):
        raise CheckpointError("resuming: the categories of its records are not those of its splits")
    return ways
