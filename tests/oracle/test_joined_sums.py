"""Encrypted sums made shard by shard and joined, against those of all rows at once: they open to the same integers."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cipher_cases import SCHEMES, Case, cases, check_left_sums, encrypt, int32, key_of, make_case, open_pairs, rows_of
from property_tests import examples
from vfxgb import _native
from vfxgb.crypto import PrivateKey


def shard_of(case: Case, begin: int, end: int) -> Case:
    """Rows [begin, end) as a table of their own, in the same nodes."""
    n_bins = case.bins.n_bins
    bins = _native.gbdt.Bins(end - begin, [np.arange(1.0, count) for count in n_bins])
    for f, count in enumerate(n_bins):
        column = case.bins.column(f)[begin:end]
        bins.fill(f, np.where(column == count, np.nan, column + 0.5))
    sampled, place = None, None
    if case.sampled is not None:
        inside = (begin <= case.sampled) & (case.sampled < end)
        sampled = int32(case.sampled[inside] - begin)
        place = np.full(end - begin, -1, dtype=np.int32)
        place[sampled] = case.rng.permutation(len(sampled))
    partition = _native.gbdt.RowPartition(end - begin, sampled)
    for split in case.splits:
        split.apply(bins, partition)
    gh = case.gh[begin:end]
    return Case(bins, case.has_missing, case.features, gh, sampled, place, partition, case.splits, case.rng)


def shards_of(case: Case, count: int) -> list[Case]:
    """Some of them are small or empty."""
    n = case.bins.n_rows
    ends = [0, *np.sort(case.rng.integers(0, n + 1, count - 1)).tolist(), n]
    return [shard_of(case, begin, end) for begin, end in pairwise(ends)]


def common_bins(case: Case) -> NDArray[np.int32]:
    """Of each feature summed the bin of most rows, or any other, or none."""
    out = []
    for f, count in zip(case.features, case.n_bins(), strict=True):
        commonest = np.bincount(case.bins.column(int(f)), minlength=count + 1).argmax()
        out.append(case.rng.choice([commonest, commonest, case.rng.integers(count + 1), -1]))
    return int32(out)


def sums_of(
    case: Case, key: PrivateKey, nodes: NDArray[np.int32], absent: NDArray[np.int32] | None, joint: bool, threads: int
) -> _native.he_sums.CipherSums:
    rows = rows_of(key, case.in_rows, threads)
    return _native.he_sums.cipher_histogram(
        rows, case.place, case.bins, case.partition, nodes, None, case.features, joint, threads, absent
    )


def sent(key: PrivateKey, sums: _native.he_sums.CipherSums, threads: int) -> _native.he_sums.CipherSums:
    """As another machine gets it."""
    data = sums.to_bytes(threads)
    out = _native.he_sums.CipherSums.from_bytes(key.public_key.native, data, threads)
    assert (out.nodes, out.additions, out.rows_additions) == (sums.nodes, sums.additions, sums.rows_additions)
    assert out.to_bytes() == data
    return out


def without_additions(sums: _native.he_sums.CipherSums) -> bytes:
    data = sums.to_bytes()
    assert int.from_bytes(data[24:32], "little") == sums.additions
    return data[:24] + data[32:]


@pytest.mark.parametrize("scheme", SCHEMES)
@given(
    case=cases(),
    shards=st.sampled_from([1, 2, 5]),
    joint=st.booleans(),
    leave_out=st.booleans(),
    threads=st.sampled_from([1, 2]),
)
@examples(12)
def test_shards(scheme: str, case: Case, shards: int, joint: bool, leave_out: bool, threads: int) -> None:
    key = key_of(scheme)
    nodes = case.rng.permutation(case.partition.nodes()).astype(np.int32)
    absent = common_bins(case) if leave_out else None
    parts = [sums_of(shard, key, nodes, absent, joint, threads) for shard in shards_of(case, shards)]
    joined = _native.he_sums.CipherSums.join([sent(key, part, threads) for part in parts], threads)
    assert joined.nodes == len(nodes)
    assert joined.rows_additions == len(case.used) * len(case.features)
    before = sum(part.additions for part in parts)
    assert before <= joined.additions <= before + (shards - 1) * len(case.plain_buckets(nodes))
    tree = parts[0]
    for part in parts[1:]:
        tree = _native.he_sums.CipherSums.join([tree, part])
    # Two at a time may add up a bucket before it turns out to be absent in another part.
    assert tree.additions >= joined.additions
    assert without_additions(tree) == without_additions(joined)
    totals = encrypt(key, case.plain(nodes)[1])
    whole = joined.with_totals(totals)
    check_left_sums(case, key, sent(key, whole, threads), nodes, threads)
    check_left_sums(case, key, whole, nodes, threads)
    assert np.array_equal(open_pairs(key, whole.buckets(threads)), case.plain_buckets(nodes))
    if not leave_out:
        check_left_sums(case, key, joined, nodes, threads)


@pytest.fixture(scope="module")
def skewed() -> Case:
    """Nine rows of ten are in bin 0, of each of five features."""
    case = make_case(np.random.default_rng(2), 2000, [3] * 5, 0.0, 0.0, 1.0, 2)
    case.features = int32(np.arange(5))
    case.splits = []
    case.partition = _native.gbdt.RowPartition(2000)
    for f in range(5):
        case.bins.fill(f, np.where(case.rng.random(2000) < 0.9, 0.5, case.rng.integers(1, 4, 2000) + 0.5))
    return case


@pytest.mark.parametrize("joint", [False, True])
def test_fewer_additions(skewed: Case, joint: bool) -> None:
    """What no shard adds is 9/10 of the rows of each feature, or 6/10 of the rows of all five together."""
    key = key_of("ou")
    nodes = int32([0])
    shards = shards_of(skewed, 3)
    made = {}
    for name, absent in {"all": None, "none": int32([-1] * 5), "less": int32([0] * 5)}.items():
        parts = [sums_of(shard, key, nodes, absent, joint, 2) for shard in shards]
        joined = _native.he_sums.CipherSums.join(parts, 2)
        made[name] = joined.additions
        check_left_sums(skewed, key, joined.with_totals(encrypt(key, skewed.plain(nodes)[1])), nodes, 2)
    assert made["all"] == made["none"]
    assert made["less"] < (0.5 if joint else 0.15) * made["all"]


def test_what_is_absent_waits_for_totals(skewed: Case) -> None:
    key = key_of("ou")
    nodes = int32([0])
    missing = np.zeros(5, dtype=np.bool_)
    part = sums_of(skewed, key, nodes, int32([0] * 5), True, 1)
    for sums in (part, _native.he_sums.CipherSums.join([part]), sent(key, part, 1)):
        for call in (lambda sums=sums: sums.left_sums(missing), sums.buckets):
            with pytest.raises(ValueError, match="totals are wanted"):
                call()


def test_joins_of_what_does_not_belong_together(skewed: Case) -> None:
    key, other = key_of("ou"), key_of("paillier")
    nodes = int32([0])
    part = sums_of(skewed, key, nodes, int32([0] * 5), False, 1)
    total = encrypt(key, skewed.plain(nodes)[1])
    fewer = shard_of(skewed, 0, 2000)
    fewer.features = int32([0, 1, 2, 3])
    moved = shard_of(skewed, 0, 2000)
    moved.features = int32([1, 2, 3, 4])
    four = sums_of(fewer, key, nodes, None, False, 1)
    split = shard_of(skewed, 0, 2000)
    split.partition.split(int32([0]), int32([1]), int32([2]), bytes(250))
    join = _native.he_sums.CipherSums.join
    calls: dict[str, Callable[[], object]] = {
        "nothing to join": lambda: join([]),
        "different keys": lambda: join([part, sums_of(skewed, other, nodes, None, False, 1)]),
        "numbers of nodes": lambda: join([part, sums_of(split, key, int32([1, 2]), None, False, 1)]),
        "other features": lambda: join([part, four]),
        "of other features": lambda: join([four, sums_of(moved, key, nodes, None, False, 1)]),
        "has totals already": lambda: join([part, part.with_totals(total)]),
        "different buckets": lambda: join([part, sums_of(skewed, key, nodes, int32([1] * 5), False, 1)]),
        "totals already": lambda: part.with_totals(total).with_totals(total),
        "another key": lambda: part.with_totals(encrypt(other, skewed.plain(nodes)[1])),
        "found 2 totals, wanted 1": lambda: part.with_totals(total.concat(total)),
        "threads": lambda: join([part], 0),
        "totals or bins": lambda: _native.he_sums.cipher_histogram(
            rows_of(key, skewed.gh, 1), None, skewed.bins, skewed.partition, nodes, total, skewed.features, True, 1,
            int32([0] * 5),
        ),
        "found 4 bins": lambda: sums_of(skewed, key, nodes, int32([0] * 4), False, 1),
        "has no bin 5": lambda: sums_of(skewed, key, nodes, int32([0, 0, 5, 0, 0]), False, 1),
        "has no bin -2": lambda: sums_of(skewed, key, nodes, int32([0, 0, 0, 0, -2]), False, 1),
    }  # fmt: skip
    for message, call in calls.items():
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError):
        join([part, None])  # type: ignore[list-item]


def test_a_part_counts_as_often_as_it_is_named(skewed: Case) -> None:
    key = key_of("ou")
    part = sums_of(skewed, key, int32([0]), None, True, 1)
    twice = _native.he_sums.CipherSums.join([part, part], 2)
    assert np.array_equal(open_pairs(key, twice.buckets()), 2 * skewed.plain_buckets(int32([0])))


def test_bytes_that_are_no_sums() -> None:
    """Cut anywhere, or with any number of the head changed: an error, or sums that can be used, and never a crash."""
    key = key_of("ou")
    native = key.public_key.native
    case = make_case(np.random.default_rng(4), 120, [3, 1], 0.5, 0.0, 1.0, 1)
    case.features = int32([0, 1])
    nodes = case.partition.nodes()
    part = sums_of(case, key, nodes, int32([0, 2]), False, 1)
    good = part.with_totals(encrypt(key, case.plain(nodes)[1])).to_bytes()
    read = _native.he_sums.CipherSums.from_bytes
    assert read(native, good).to_bytes() == good
    for end in range(len(good)):
        with pytest.raises(ValueError, match="encrypted sums"):
            read(native, good[:end])
    for data in (good + b"\0", good + bytes(native.wire_bytes), b"\0" * 100, good[8:]):
        with pytest.raises(ValueError, match="encrypted sums"):
            read(native, data)
    with pytest.raises(ValueError, match="out of range"):
        read(native, good[: -native.wire_bytes] + b"\xff" * native.wire_bytes)
    head = len(good) - native.wire_bytes * (len(good) // native.wire_bytes)
    survived = 0
    for place in range(8, head):
        for byte in {0, 1, 2, 0x7F, 0xFF, good[place] ^ 1}:
            data = bytearray(good)
            data[place] = byte
            try:
                sums = read(native, data, 2)
            except ValueError:
                continue
            survived += 1
            assert sums.to_bytes() == data
            if sums.nodes < 100:
                assert len(sums.buckets()) > 0
    assert survived > 0
