"""Bins and ciphertexts kept in files against those in memory: equal, small when dropped, and no file left behind."""

import pickle
import resource
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.crypto import PrivateKey, generate

N = 200_000
MAPS = Path("/proc/self/smaps")


@pytest.fixture(scope="module")
def key() -> PrivateKey:
    return generate("ou", bits=512, insecure=True)


def filled_bins(path: str | None) -> _native.gbdt.Bins:
    """Twenty features of one byte, and one of two."""
    rng = np.random.default_rng(1)
    bins = _native.gbdt.Bins(N, [np.arange(1.0, 1 + count) for count in [30] * 20 + [300]], path)
    for feature in range(bins.n_features):
        column = rng.integers(0, 301, N).astype(np.float64)
        column[rng.random(N) < 0.1] = np.nan
        bins.fill(feature, column)
    return bins


def columns(bins: _native.gbdt.Bins) -> list[NDArray[np.uint16]]:
    return [bins.column(feature) for feature in range(bins.n_features)]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def resident(path: Path) -> int:
    """Bytes of a mapped file that are in memory now."""
    lines = MAPS.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if f"{path} (deleted)" in line)
    found = next(line for line in lines[start:] if line.startswith("Rss:"))
    return int(found.split()[1]) * 1024


def test_bins(tmp_path: Path) -> None:
    path = tmp_path / "bins"
    memory, mapped = filled_bins(None), filled_bins(str(path))
    assert names(tmp_path) == []
    assert mapped.nbytes == memory.nbytes >= 22 * N
    wanted = columns(memory)
    memory.drop()
    for _ in range(2):
        assert all(np.array_equal(found, column) for found, column in zip(columns(mapped), wanted, strict=True))
        mapped.drop()
    copy = pickle.loads(pickle.dumps(mapped))
    assert all(np.array_equal(found, column) for found, column in zip(columns(copy), wanted, strict=True))
    assert copy.n_bins.tolist() == memory.n_bins.tolist()
    assert pickle.dumps(copy) == pickle.dumps(memory)
    copy.fill(0, np.zeros(N))
    assert not copy.column(0).any()
    assert np.array_equal(mapped.column(0), wanted[0])


@pytest.mark.skipif(not MAPS.exists(), reason="only Linux says how much of a mapping is in memory")
def test_drop_gives_memory_back(tmp_path: Path, key: PrivateKey) -> None:
    bins = filled_bins(str(tmp_path / "bins"))
    assert resident(tmp_path / "bins") >= bins.nbytes
    bins.drop()
    assert resident(tmp_path / "bins") == 0
    bins.column(20)  # of a tile of its own
    assert 0 < resident(tmp_path / "bins") < bins.nbytes / 2
    rows = _native.crypto.CipherRows(key.public_key.native, 20_000, str(tmp_path / "rows"))
    assert rows.fill(0, key.encrypt([3])._native.to_wire() * 20_000) == -1
    assert resident(tmp_path / "rows") > 0.9 * rows.nbytes
    rows.drop()
    assert resident(tmp_path / "rows") == 0


def test_cipher_rows(tmp_path: Path, key: PrivateKey) -> None:
    native = key.public_key.native
    wire = key.encrypt(list(range(100)))._native.to_wire()
    size = native.wire_bytes
    memory, mapped = (
        _native.crypto.CipherRows(native, 120),
        _native.crypto.CipherRows(native, 120, str(tmp_path / "rows")),
    )
    assert names(tmp_path) == []
    assert memory.nbytes == mapped.nbytes >= 120 * native.element_bytes
    for rows in (memory, mapped):
        assert rows.fill(20, wire) == -1
        rows.drop()
        assert rows.to_wire(20, 100, 2) == wire
        assert rows.to_wire(25, 3) == wire[5 * size : 8 * size]
        assert rows.to_wire(0, 0) == rows.to_wire(120, 0) == b""
        for first, count in [(19, 2), (119, 2), (0, 120), (121, 0), (20, 2**60), (2**62, 1), (-1, 1), (1, -1)]:
            with pytest.raises(ValueError, match=r".+"):
                rows.to_wire(first, count)
        with pytest.raises(ValueError, match="threads"):
            rows.to_wire(20, 1, 0)


def test_files_are_private_and_new(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(FileExistsError) as caught:
        _native.gbdt.Bins(3, [], str(taken))
    assert caught.value.filename == str(taken)
    assert taken.read_text() == "mine"
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        _native.gbdt.Bins(3, [], str(link))
    with pytest.raises(FileNotFoundError):
        _native.gbdt.Bins(3, [np.zeros(1)], str(tmp_path / "none" / "bins"))
    assert names(tmp_path) == ["link", "taken"]
    path = str(tmp_path / "bins")
    with pytest.raises(ValueError, match="ascending"):
        _native.gbdt.Bins(3, [np.zeros(2)], path)
    first, second = (
        _native.gbdt.Bins(0, [], path),
        _native.gbdt.Bins(3, [np.zeros(1)], path),
    )  # the name is free at once
    assert (first.nbytes, second.column(0).tolist()) == (0, [2, 2, 2])
    first.drop()


def test_no_room_is_an_error(tmp_path: Path, key: PrivateKey) -> None:
    """And no signal later on, when a page is written."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(OSError, match="bins") as caught:
            _native.gbdt.Bins(1 << 21, [np.zeros(1)], str(tmp_path / "bins"))
        assert caught.value.filename == str(tmp_path / "bins")
        with pytest.raises(OSError, match="rows"):
            _native.crypto.CipherRows(key.public_key.native, 1 << 16, str(tmp_path / "rows"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == []
