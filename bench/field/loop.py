"""SecureBoost's messages over any library of encryption, for libraries that train nothing themselves.

Not a product of anybody: the least that has to be sent, written here, with the library's own bulk calls wherever it has
some. The active party encrypts g and h of each row, in a ciphertext each. For every level it asks for the sums of some
nodes: of the root, then of the smaller child of each pair, whose sibling follows by subtraction. The passive party adds
ciphertexts up, for each of its features and bins, and sends all sums back. Integers are g and h times 2^24, rounded.

Messages go over one TCP connection: 8 bytes of length, then the bytes.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from field.adapter import ACTIVE, PASSIVE, Entrant, Job, Peer, Reporter

HOST = "127.0.0.1"
KEY_BITS = 2048
LEARNS = (
    "as SecureBoost: the active party opens the sums of every bucket, the passive one learns the rows of every node"
)
SCALE = 1 << 24
LEARNING_RATE, LAMBDA, LEAST_HESSIAN = 0.3, 1.0, 1.0
CONNECT_SECONDS = 60.0


class ActiveKeys(Protocol):
    """The active party's side of a library: a key that was made for this training."""

    def public(self) -> bytes:
        """What the passive party needs."""
        ...

    def encrypt(self, values: Any) -> bytes:
        """int64[n] as ciphertexts, in the library's own format."""
        ...

    def decrypt(self, sums: bytes) -> Any:
        """What PassiveSums.sums gave, as int64 in the same order."""
        ...


class PassiveSums(Protocol):
    """The passive party's side of a library."""

    def take(self, ciphertexts: bytes) -> Any:
        """What ActiveKeys.encrypt gave."""
        ...

    def sums(self, ciphertexts: Any, rows: Any, bins: Any, n_bins: int) -> bytes:
        """Sums over m rows, feature by feature and bin by bin. rows: int64[m]; bins: int8[m, features] of these."""
        ...


@dataclass(frozen=True)
class Library:
    """Both sides: `active` makes a key, `passive` takes the public one."""

    active: Callable[[], ActiveKeys]
    passive: Callable[[bytes], PassiveSums]


def loop_peer(
    title: str, distribution: str, module: str, more: tuple[str, ...], libraries: Mapping[str, Library]
) -> Peer:
    """The PEER of a library. `libraries`: entrant -> how it encrypts; `more`: requirements beside it."""
    requirements = (distribution, *more, "numpy")
    return Peer(
        title=title,
        distribution=distribution.partition("==")[0],
        module=module,
        requirements=requirements,
        install=f"pip install {' '.join(requirements)}",
        source="bench/field/loop.py, which sends these messages",
        entrants=lambda: {name: Entrant("sums", LEARNS, key_bits=KEY_BITS) for name in libraries},
        play=lambda job, reporter: play(job, reporter, libraries[job.entrant]),
        notes=(
            "trains nothing itself: SecureBoost's messages as bench/field/loop.py sends them, over TCP without TLS",
        ),
    )


class Wire:
    """Messages over a connection; counts how often one had to be waited for."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self.messages = self.round_trips = 0

    def send(self, data: bytes) -> None:
        """Send a message."""
        self._connection.sendall(struct.pack("<Q", len(data)) + data)
        self.messages += 1

    def receive(self) -> bytes:
        """The next message."""
        (size,) = struct.unpack("<Q", self._exactly(8))
        self.messages += 1
        self.round_trips += 1
        return self._exactly(size)

    def tell(self, what: Any) -> None:
        """Send something as JSON."""
        self.send(json.dumps(what).encode())

    def hear(self) -> Any:
        """The next message, which is JSON."""
        return json.loads(self.receive())

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._connection.recv(min(size - len(data), 1 << 20))
            if not part:
                raise ConnectionError("the other party has gone")
            data += part
        return bytes(data)


def binned(table: Any, n_bins: int) -> Any:
    """int8[rows, features]: bins of equal frequency."""
    places = np.arange(1, n_bins) / n_bins
    columns = [np.searchsorted(np.unique(np.quantile(column, places)), column) for column in table.T]
    return np.stack(columns, axis=1).astype(np.int8)


def plain_sums(values: Any, bins: Any, n_bins: int) -> Any:
    """int64[features, bins] of integers."""
    sums = [np.bincount(column, weights=values, minlength=n_bins) for column in bins.T]
    return np.rint(np.stack(sums)).astype(np.int64)


def play(job: Job, reporter: Reporter, library: Library) -> None:
    """Play a party."""
    if job.role == ACTIVE:
        _play_active(job, reporter, library)
    else:
        _play_passive(job, reporter, library)


def _play_passive(job: Job, reporter: Reporter, library: Library) -> None:
    bins = binned(job.table(PASSIVE), job.bins)
    with socket.create_server((HOST, job.listen[PASSIVE])) as listening:
        reporter.ready()
        connection, _ = listening.accept()
    with connection:
        wire = Wire(connection)
        sums = library.passive(wire.receive())
        for _ in range(job.trees):
            pairs = [sums.take(wire.receive()) for _ in range(2)]
            _answer_tree(wire, sums, pairs, bins, job)


def _answer_tree(wire: Wire, library: PassiveSums, pairs: list[Any], bins: Any, job: Job) -> None:
    """Answer for a tree: sums of nodes, and where the rows of a node go by a split of this party."""
    nodes = {0: np.arange(job.rows)}
    for _ in range(job.depth):
        for node in wire.hear():
            rows = nodes[node]
            for ciphertexts in pairs:
                wire.send(library.sums(ciphertexts, rows, bins[rows], job.bins))
        won = wire.hear()
        for node, feature, last in won:
            wire.send(np.packbits(bins[nodes[node], feature] <= last).tobytes())
        for node in wire.hear():
            rows = nodes.pop(node)
            left = np.unpackbits(np.frombuffer(wire.receive(), dtype=np.uint8), count=len(rows)).astype(bool)
            nodes[2 * node + 1], nodes[2 * node + 2] = rows[left], rows[~left]


def _play_active(job: Job, reporter: Reporter, library: Library) -> None:
    bins, labels = binned(job.table(ACTIVE), job.bins), job.labels().astype(np.float64)
    reporter.ready()
    with socket.create_connection((HOST, job.dial[PASSIVE]), CONNECT_SECONDS) as connection:
        connection.settimeout(None)
        wire = Wire(connection)
        reporter.begin()
        keys = library.active()
        wire.send(keys.public())
        margins = np.full(job.rows, np.log(labels.mean() / (1 - labels.mean())))
        for _ in range(job.trees):
            probability = 1 / (1 + np.exp(-margins))
            exact = (probability - labels, probability * (1 - probability))
            pairs = [np.rint(SCALE * values).astype(np.int64) for values in exact]
            for values in pairs:
                wire.send(keys.encrypt(values))
            margins += _Tree(wire, keys, pairs, bins, job).grow()
            reporter.tree(messages=wire.messages, round_trips=wire.round_trips)
    job.save_predictions(margins)


class _Tree:
    """A tree that the active party grows, level by level. Nodes are numbered as in a heap."""

    def __init__(self, wire: Wire, keys: ActiveKeys, pairs: list[Any], bins: Any, job: Job) -> None:
        self._wire, self._keys, self._pairs, self._bins, self._job = wire, keys, pairs, bins, job
        self._theirs: dict[int, Any] = {}  # node -> int64[2, features, bins] of the passive party

    def grow(self) -> Any:
        """What the tree adds to each row's margin."""
        job, added = self._job, np.zeros(self._job.rows)
        level = {0: np.arange(job.rows)}
        for _ in range(job.depth):
            self._ask(level)
            best = {node: self._best(node, rows) for node, rows in level.items()}
            split = {node: choice for node, choice in best.items() if choice is not None}
            lefts = self._lefts(level, split)
            for node in level.keys() - split.keys():
                added[level[node]] = self._weight(level[node])
            children = {}
            for node, left in lefts.items():
                children[2 * node + 1], children[2 * node + 2] = level[node][left], level[node][~left]
            level = children
        for rows in level.values():
            added[rows] = self._weight(rows)
        return added

    def _ask(self, level: dict[int, Any]) -> None:
        """The passive party's sums of all nodes: those asked for, and their siblings by subtraction."""
        asked = [node for node in level if node == 0 or self._is_smaller(node, level)]
        self._wire.tell(asked)
        before, self._theirs = self._theirs, {}
        shape = (self._job.features[1], self._job.bins)
        for node in asked:
            sums = [np.asarray(self._keys.decrypt(self._wire.receive())).reshape(shape) for _ in range(2)]
            self._theirs[node] = np.stack(sums)
            if node:
                self._theirs[_sibling(node)] = before[(node - 1) // 2] - self._theirs[node]

    def _is_smaller(self, node: int, level: dict[int, Any]) -> bool:
        own, other = len(level[node]), len(level[_sibling(node)])
        return own < other or (own == other and node % 2 == 1)

    def _best(self, node: int, rows: Any) -> tuple[bool, int, int] | None:
        """(own feature, feature, last bin to the left) of the best split; None where there is none."""
        bins = self._bins[rows]
        own = np.stack([plain_sums(values[rows], bins, self._job.bins) for values in self._pairs])
        every = np.concatenate([own, self._theirs[node]], axis=1) / SCALE
        left = np.cumsum(every, axis=2)[:, :, :-1]
        right = every.sum(axis=2, keepdims=True) - left
        gain = _score(left) + _score(right) - _score(every[:, :1].sum(axis=2, keepdims=True))
        allowed = (left[1] >= LEAST_HESSIAN) & (right[1] >= LEAST_HESSIAN)
        gain = np.where(allowed, gain, -np.inf)
        feature, last = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[feature, last] <= 0:
            return None
        n_own = own.shape[1]
        return (True, int(feature), int(last)) if feature < n_own else (False, int(feature) - n_own, int(last))

    def _lefts(self, level: dict[int, Any], split: dict[int, tuple[bool, int, int]]) -> dict[int, Any]:
        """Node -> which of its rows go left; the passive party is told of all of them."""
        theirs = [(node, feature, last) for node, (is_own, feature, last) in split.items() if not is_own]
        self._wire.tell(theirs)
        lefts = {}
        for node, (is_own, feature, last) in split.items():
            if is_own:
                lefts[node] = self._bins[level[node], feature] <= last
        for node, _, _ in theirs:
            bits = np.frombuffer(self._wire.receive(), dtype=np.uint8)
            lefts[node] = np.unpackbits(bits, count=len(level[node])).astype(bool)
        self._wire.tell(list(lefts))
        for left in lefts.values():
            self._wire.send(np.packbits(left).tobytes())
        return lefts

    def _weight(self, rows: Any) -> float:
        g, h = (int(values[rows].sum()) / SCALE for values in self._pairs)
        return -LEARNING_RATE * g / (h + LAMBDA)


def _score(sums: Any) -> Any:
    """g^2 / (h + lambda) of [2, ...] sums."""
    return sums[0] ** 2 / (sums[1] + LAMBDA)


def _sibling(node: int) -> int:
    return node + 1 if node % 2 else node - 1
