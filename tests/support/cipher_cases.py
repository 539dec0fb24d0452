"""Binned tables, a tree over them and encrypted gradients: what tests of encrypted sums start from."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto import PrivateKey, generate

SCHEMES = ("paillier", "ou")
KEYS: dict[str, PrivateKey] = {}
W_H, W_G, WIDTH = 40, 41, 16  # the slots of h and g


def key_of(scheme: str) -> PrivateKey:
    """A key small enough for many ciphertexts."""
    if scheme not in KEYS:
        KEYS[scheme] = generate(scheme, bits=512, insecure=True)
    return KEYS[scheme]


def int32(values: object) -> NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)


def encode(pairs: NDArray[np.int64]) -> bytes:
    return _native.codec.encode_slots(pairs, int32([W_H, 0]), WIDTH)


def encrypt(key: PrivateKey, pairs: NDArray[np.int64]) -> _native.crypto.Ciphertexts:
    return key.native.encrypt(encode(pairs), WIDTH)


def open_pairs(key: PrivateKey, ciphertexts: _native.crypto.Ciphertexts) -> NDArray[np.int64]:
    data = key.native.decrypt(ciphertexts, 2)
    found = _native.codec.decode_slots(data, key.native.plaintext_width, int32([W_H, W_G]), np.array([False, True]))
    return np.ascontiguousarray(found[:, ::-1])


def rows_of(key: PrivateKey, pairs: NDArray[np.int64], threads: int) -> _native.crypto.CipherRows:
    rows = _native.crypto.CipherRows(key.public_key.native, len(pairs))
    wire = encrypt(key, pairs).to_wire()
    size = key.public_key.native.wire_bytes
    half = len(pairs) // 3
    assert rows.fill(half, wire[half * size :], threads) == -1
    assert rows.filled == len(pairs) - half
    assert rows.fill(0, wire[: half * size], threads) == -1
    assert rows.filled == len(rows) == len(pairs)
    return rows


@dataclass(frozen=True)
class Split:
    """One split of a partition, by the bins of a feature."""

    node: int
    feature: int
    bin: int
    default_left: bool
    child: int

    def apply(self, bins: _native.gbdt.Bins, partition: _native.gbdt.RowPartition) -> None:
        node, feature, split_bin = int32([self.node]), int32([self.feature]), int32([self.bin])
        bits = _native.gbdt.left_bits(bins, partition, node, feature, split_bin, np.array([self.default_left]))
        partition.split(node, int32([self.child]), int32([self.child + 1]), bits)


@dataclass
class Case:
    """Binned columns, gradients, and a tree split a few times."""

    bins: _native.gbdt.Bins
    has_missing: NDArray[np.bool_]
    features: NDArray[np.int32]
    gh: NDArray[np.int64]
    sampled: NDArray[np.int32] | None
    place: NDArray[np.int32] | None
    partition: _native.gbdt.RowPartition
    splits: list[Split]
    rng: np.random.Generator

    @property
    def used(self) -> NDArray[np.int32]:
        return int32(np.arange(self.bins.n_rows)) if self.sampled is None else self.sampled

    @property
    def in_rows(self) -> NDArray[np.int64]:
        """What CipherRows holds, position by position."""
        if self.place is None:
            return self.gh
        out = np.empty((len(self.used), 2), dtype=np.int64)
        out[self.place[self.used]] = self.gh[self.used]
        return out

    def plain(self, nodes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Histograms and totals."""
        return (
            _native.gbdt.histogram(self.bins, self.partition, nodes, self.gh, self.features),
            _native.gbdt.node_sums(self.partition, nodes, self.gh),
        )

    def n_bins(self) -> NDArray[np.int32]:
        return np.ascontiguousarray(self.bins.n_bins[self.features])

    def plain_buckets(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        hist, totals = self.plain(nodes)
        parts, first = [], 0
        for width in self.n_bins():
            part = hist[:, first : first + width]
            parts += [part, (totals - part.sum(axis=1))[:, None]]
            first += width
        return np.concatenate(parts, axis=1).reshape(-1, 2) if parts else np.zeros((0, 2), dtype=np.int64)


def make_case(
    rng: np.random.Generator, n: int, cut_counts: list[int], missing: float, related: float, sample: float, splits: int
) -> Case:
    """`related`: the share of rows whose columns follow the first one."""
    bins = _native.gbdt.Bins(n, [np.arange(1.0, count + 1) for count in cut_counts])
    has_missing = np.zeros(len(cut_counts), dtype=np.bool_)
    base = rng.random(n)
    for f, count in enumerate(cut_counts):
        value = np.where(rng.random(n) < related, base, rng.random(n)) ** 2
        column = np.floor(value * (count + 1)) + 0.5
        column[rng.random(n) < missing * (f % 2)] = np.nan
        has_missing[f] = bins.fill(f, column) > 0
    gh = np.stack([rng.integers(-(2**28), 2**28, n), rng.integers(0, 2**28, n)], axis=1).astype(np.int64)
    sampled = None if sample == 1 else int32(np.flatnonzero(rng.random(n) < sample))
    place = None
    if sampled is not None:
        place = np.full(n, -1, dtype=np.int32)
        place[sampled] = rng.permutation(len(sampled))
    partition = _native.gbdt.RowPartition(n, sampled)
    made = []
    for index in range(splits):
        node = int(rng.choice(partition.nodes()))
        f = int(rng.integers(len(cut_counts)))
        made.append(Split(node, f, int(rng.integers(bins.n_bins[f])), index % 2 == 0, 2 * index + 1))
        made[-1].apply(bins, partition)
    keep = rng.random(len(cut_counts)) < 0.8
    return Case(bins, has_missing, int32(np.flatnonzero(keep)), gh, sampled, place, partition, made, rng)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    return make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.sampled_from([1, 2, 17, 120, 400])),
        draw(st.lists(st.sampled_from([0, 1, 2, 7, 31, 300]), min_size=1, max_size=7)),
        draw(st.sampled_from([0.0, 0.1, 0.9, 1.0])),
        draw(st.sampled_from([0.0, 0.7, 1.0])),
        draw(st.sampled_from([1.0, 0.6])),
        draw(st.integers(0, 5)),
    )


def check_left_sums(
    case: Case, key: PrivateKey, sums: _native.he_sums.CipherSums, nodes: NDArray[np.int32], threads: int
) -> None:
    hist, totals = case.plain(nodes)
    missing = np.ascontiguousarray(case.has_missing[case.features])
    wanted = _native.gbdt.left_sums(hist, totals, case.n_bins(), missing)
    m, c = wanted.shape[:2]
    assert np.array_equal(open_pairs(key, sums.left_sums(missing, threads=threads)).reshape(m, c, 2), wanted)
    order = case.rng.permutation(c).astype(np.int64)
    available = case.rng.random((m, c)) < 0.7
    wanted[~available] = 0
    found = open_pairs(key, sums.left_sums(missing, order, available, threads))
    assert np.array_equal(found.reshape(m, c, 2), wanted[:, order])
