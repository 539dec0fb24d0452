"""Left bits of shards, pickled objects and sums as bytes refuse what does not fit: nothing crashes."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb import _native


def int64(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def refuse(*calls: Callable[[], object]) -> None:
    for call in calls:
        with pytest.raises(ValueError, match=r".+"):
            call()


def test_left_bits() -> None:
    counts = int64(3, 0, 9, 1).reshape(1, 2, 2)
    whole, parts = b"\xff\x0f\x01", [b"\x07", b"\xff\x01\x01"]
    assert _native.gbdt.split_left_bits(whole, counts)[0] == parts
    assert _native.gbdt.join_left_bits(parts, counts) == whole
    negative, huge = counts.copy(), counts.copy()
    negative[0, 0, 0], huge[0, 0, 0] = -3, 2**62
    refuse(
        lambda: _native.gbdt.split_left_bits(whole[:-1], counts),
        lambda: _native.gbdt.split_left_bits(whole + b"\0", counts),
        lambda: _native.gbdt.split_left_bits(b"\xff\x1f\x01", counts),
        lambda: _native.gbdt.split_left_bits(b"\xff\x0f\x02", counts),
        lambda: _native.gbdt.split_left_bits(whole, counts[0]),
        lambda: _native.gbdt.split_left_bits(whole, counts[:, :, :1]),
        lambda: _native.gbdt.split_left_bits(whole, negative),
        lambda: _native.gbdt.split_left_bits(whole, huge),
        lambda: _native.gbdt.join_left_bits(parts[:1], counts),
        lambda: _native.gbdt.join_left_bits([*parts, b""], counts),
        lambda: _native.gbdt.join_left_bits([b"", parts[1]], counts),
        lambda: _native.gbdt.join_left_bits([b"\x0f", parts[1]], counts),
        lambda: _native.gbdt.join_left_bits([parts[0], b"\xff\x03\x01"], counts),
        lambda: _native.gbdt.join_left_bits([parts[0], b"\xff\x01\x03"], counts),
        lambda: _native.gbdt.join_left_bits(parts, negative),
        lambda: _native.gbdt.join_left_bits(parts, huge),
    )
    with pytest.raises(ValueError, match="left bits of shard 1: found 2 bytes, wanted 3"):
        _native.gbdt.join_left_bits([parts[0], b"\xff\x01"], counts)
    with pytest.raises(TypeError):
        _native.gbdt.split_left_bits(whole, counts.astype(np.float64))  # type: ignore[arg-type]


def partition_from(*state: object) -> _native.gbdt.RowPartition:
    partition = _native.gbdt.RowPartition.__new__(_native.gbdt.RowPartition)
    partition.__setstate__(state)  # type: ignore[arg-type]
    return partition


def test_partition_state() -> None:
    """Three rows: 0 and 2 sampled in node 1, 1 in node 4."""
    table = int64(1, 2, 0, 4, 0, 1)
    order = np.array([0, 2, 1], dtype=np.int32).tobytes()
    good = partition_from(1, table.tobytes(), order)
    assert good.leaves().tolist() == [1, 4, 1]
    assert good.n_sampled == 2
    assert good.__getstate__() == (1, table.tobytes(), order)

    def rows(*values: int) -> bytes:
        return np.array(values, dtype=np.int32).tobytes()

    refuse(
        lambda: partition_from(),
        lambda: partition_from(1, table.tobytes()),
        lambda: partition_from(2, table.tobytes(), order),
        lambda: partition_from("1", table.tobytes(), order),
        lambda: partition_from(2**70, table.tobytes(), order),
        lambda: partition_from(1, table.tobytes(), order.decode("latin-1")),
        lambda: partition_from(1, b"", b""),
        lambda: partition_from(1, b"", order),
        lambda: partition_from(1, table.tobytes()[:-1], order),
        lambda: partition_from(1, table.tobytes()[:-8], order),
        lambda: partition_from(1, table.tobytes(), order[:-1]),
        lambda: partition_from(1, table.tobytes(), order[:-4]),
        lambda: partition_from(1, table.tobytes(), rows(0, 2, 3)),
        lambda: partition_from(1, table.tobytes(), rows(0, 2, -1)),
        lambda: partition_from(1, table.tobytes(), rows(0, 2, 2)),
        lambda: partition_from(1, table.tobytes(), rows(2, 0, 1)),
        lambda: partition_from(1, int64(4, 2, 0, 1, 0, 1).tobytes(), order),
        lambda: partition_from(1, int64(1, 2, 0, 1, 0, 1).tobytes(), order),
        lambda: partition_from(1, int64(-1, 2, 0, 4, 0, 1).tobytes(), order),
        lambda: partition_from(1, int64(1, 2, 0, 2**31, 0, 1).tobytes(), order),
        lambda: partition_from(1, int64(1, 4, 0, 4, 0, -1).tobytes(), order),
        lambda: partition_from(1, int64(1, 2**62, 2**62, 4, 2**62, 2**62 + 3).tobytes(), order),
        lambda: partition_from(1, int64(1, 2, 0).tobytes(), order),
    )


def bins_from(*state: object) -> _native.gbdt.Bins:
    bins = _native.gbdt.Bins.__new__(_native.gbdt.Bins)
    bins.__setstate__(state)  # type: ignore[arg-type]
    return bins


def test_bins_state() -> None:
    """Two rows, two features: one cut and none."""
    bins = _native.gbdt.Bins(2, [np.array([0.5]), np.zeros(0)])
    bins.fill(0, np.array([0.0, 1.0]))
    version, rows, cuts, storage = bins.__getstate__()
    assert (version, rows, len(cuts)) == (1, 2, 2)
    assert bins_from(version, rows, cuts, storage).column(0).tolist() == [0, 1]
    assert storage[:4] == b"\0\1\1\1"  # row by row; the second feature is missing

    def changed(place: int, byte: int) -> bytes:
        return storage[:place] + bytes([byte]) + storage[place + 1 :]

    assert bins_from(version, rows, cuts, changed(2, 2)).column(0).tolist() == [0, 2]
    refuse(
        lambda: bins_from(),
        lambda: bins_from(version, rows, cuts),
        lambda: bins_from(version + 1, rows, cuts, storage),
        lambda: bins_from(version, -1, cuts, storage),
        lambda: bins_from(version, 2**31 - 1, cuts, storage),
        lambda: bins_from(version, 2**62, cuts, storage),
        lambda: bins_from(version, 33, cuts, storage),
        lambda: bins_from(version, rows, list(cuts), storage),
        lambda: bins_from(version, rows, (cuts[0], 1.0), storage),
        lambda: bins_from(version, rows, (cuts[0], b"1234567"), storage),
        lambda: bins_from(version, rows, (cuts[0] * 2, b""), storage),
        lambda: bins_from(version, rows, cuts, storage[:-1]),
        lambda: bins_from(version, rows, cuts, storage + bytes(64)),
        lambda: bins_from(version, rows, cuts, storage.hex()),
        lambda: bins_from(version, rows, cuts, changed(2, 3)),
        lambda: bins_from(version, rows, cuts, changed(3, 2)),
    )
