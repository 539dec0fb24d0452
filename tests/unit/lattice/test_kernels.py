"""Every kernel on every set of loops against the twin, and the sets against one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lattice_twin as twin
from property_tests import examples
from vfxgb import _native

PATHS = _native.lattice.available_paths()
KEY = bytes(range(32))


def draw_words(generator: np.random.Generator, shape: tuple[int, ...], log_q: int) -> np.ndarray:
    drawn = generator.integers(0, 1 << 64, shape, dtype=np.uint64)
    return drawn >> np.uint64(64 - log_q) << np.uint64(64 - log_q)


def integers(words: np.ndarray, log_q: int) -> list[int]:
    return [int(word) >> (64 - log_q) for word in words]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("log_q", "bits"), [(48, 43), (64, 52), (64, 64)])
def test_every_byte_of_encrypted_columns(path: str, log_q: int, bits: int) -> None:
    degree, rows, first, shift, block = 128, 77, 30, 40, 5
    generator = np.random.default_rng(1)
    element = draw_words(generator, (degree,), log_q)
    left = generator.integers(0, 2, (3, rows), dtype=np.uint8)
    weights = np.array([8, 32, 1], dtype=np.int32)
    native = _native.lattice.SecretColumns(degree, log_q, 3, KEY, 2, path)
    found = native.encrypt(
        block, element, first, rows, np.packbits(left, axis=1, bitorder="little"), weights, [shift], bits, 2
    )
    wanted = b""
    for column in range(3):
        c = twin.product(integers(element, log_q), twin.secret(KEY, column, degree), 1 << log_q)
        e = twin.noise(KEY, block, column, degree)
        message = [int(weights[column]) * int(bit) << (shift - (64 - log_q)) for bit in left[column]]
        wanted += twin.pack([c[first + i] + e[first + i] + message[i] for i in range(rows)], log_q, bits)
    assert found == wanted
    # Shares of w: minus the products with the secrets.
    w = draw_words(generator, (2, degree), log_q)
    packed = _native.lattice.pack_words(w, bits)
    y = native.shares(packed, 2, bits)
    for node in range(2):
        own = [twin.rounded(value, log_q, bits) for value in integers(w[node], log_q)]
        for column in range(3):
            dot = -sum(a * b for a, b in zip(own, twin.secret(KEY, column, degree), strict=True))
            assert y[node, column] == twin.words([dot], log_q)[0]


@pytest.mark.parametrize("path", PATHS)
@given(
    seed=st.integers(0, 1 << 32),
    log_q=st.sampled_from([48, 64]),
    size=st.sampled_from([1, 100, 1 << 20, (1 << 31) - 1]),
    threads=st.integers(1, 3),
    sparse=st.booleans(),
)
@examples(8)
def test_correlations_and_sums(path: str, seed: int, log_q: int, size: int, threads: int, sparse: bool) -> None:
    degree, blocks, first_block, columns = 128, 3, 2, 5
    generator = np.random.default_rng(seed)
    elements = draw_words(generator, (blocks, degree), log_q)
    first, stop = first_block * degree, (first_block + blocks) * degree
    nodes = []
    for k in range(4):
        keep = generator.random(stop - first) < (0.03 if sparse else 0.5) * (k > 0)
        rows = np.flatnonzero(keep).astype(np.int32) + np.int32(first)
        nodes.append((rows, generator.integers(-size, size + 1, len(rows)).astype(np.int32)))
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows, _ in nodes])]).astype(np.int64)
    rows, weights = (np.concatenate([node[i] for node in nodes]) for i in range(2))
    native = _native.lattice.Elements(degree, log_q, first_block, elements, threads, path)
    w = native.correlate(offsets, rows, weights, threads)
    c = draw_words(generator, (stop - first, columns), log_q)
    held = _native.lattice.Columns(first, stop - first, columns, None, path)
    held.set_rows(0, c)
    np.testing.assert_array_equal(held.rows(3, 90), c[3:90])
    x = held.sums(offsets, rows, weights, threads)
    for node, (own, u) in enumerate(nodes):
        wanted = [0] * degree
        for block in range(blocks):
            start = first + block * degree
            inside = {int(r) - start: int(v) for r, v in zip(own, u, strict=True) if start <= r < start + degree}
            part = twin.correlation(integers(elements[block], log_q), inside, 1 << log_q)
            wanted = [a + b for a, b in zip(wanted, part, strict=True)]
        np.testing.assert_array_equal(w[node], twin.words(wanted, log_q))
        sums = [sum(int(v) * int(c[r - first, j]) for r, v in zip(own, u, strict=True)) for j in range(columns)]
        assert x[node].tolist() == [value % (1 << 64) for value in sums]


@pytest.mark.parametrize("path", PATHS)
def test_masks_fit_together(path: str) -> None:
    """The two parts of a mask belong to one ternary r: with secrets 0 in z, what is left is noise of r's size."""
    degree, log_q, columns = 256, 48, 4
    generator = np.random.default_rng(2)
    element = draw_words(generator, (degree,), log_q)
    native = _native.lattice.SecretColumns(degree, log_q, columns, KEY, 1, path)
    z = native.encrypt((1 << 64) - 1, element, 0, degree, None, np.ones(columns, dtype=np.int32), [0], log_q)
    maker = _native.lattice.MaskMaker(degree, log_q, element, z, columns, log_q, 2, path)
    w, x = maker.make(5, 2)
    assert len({bytes(row) for row in w}) == 5
    total = x + native.shares(_native.lattice.pack_words(w, log_q), 5, log_q)
    gap = total.view(np.int64) >> 16
    # r e_z - <e1, s>: variance 2 * 256 * 2 / 3 * 16.
    assert np.abs(gap).max() < 8 * np.sqrt(2 * degree * 2 / 3 * 16)
    assert np.count_nonzero(gap) > 10


@given(seed=st.integers(0, 1 << 32), bits=st.integers(1, 64), vectors=st.integers(0, 4), length=st.integers(0, 70))
def test_packed_words(seed: int, bits: int, vectors: int, length: int) -> None:
    words = draw_words(np.random.default_rng(seed), (vectors, length), 64)
    packed = _native.lattice.pack_words(words, bits)
    assert packed == b"".join(twin.pack([int(word) for word in row], 64, bits) for row in words)
    back = _native.lattice.unpack_words(packed, vectors, length, bits)
    assert back.tolist() == [[twin.rounded(int(word), 64, bits) for word in row] for row in words]
    assert len(packed) == vectors * _native.lattice.packed_bytes(length, bits)


def test_the_portable_loops_are_used_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VFXGB_SIMD", "portable")
    assert _native.lattice.path_in_use() == "portable"
    monkeypatch.delenv("VFXGB_SIMD")
    assert _native.lattice.path_in_use() == PATHS[-1]
    with pytest.raises(ValueError, match="this machine can run: portable"):
        _native.lattice.Columns(0, 1, 1, None, "sse9")


def test_bad_arguments() -> None:
    lattice = _native.lattice
    offsets, rows = np.array([0, 1]), np.array([5], dtype=np.int32)
    held = lattice.Columns(0, 5, 2)
    with pytest.raises(ValueError, match=r"lie in \[0, 5\); found row 5"):
        held.sums(offsets, rows, rows)
    with pytest.raises(ValueError, match="found 3 bytes, wanted 12"):
        held.fill(0, 1, b"abc", 48)
    with pytest.raises(ValueError, match="key must have 32 bytes"):
        lattice.SecretColumns(128, 48, 1, b"short")
    with pytest.raises(ValueError, match="power of two"):
        lattice.SecretColumns(100, 48, 1, KEY)
    with pytest.raises(ValueError, match=r"words must have shape \[any, 128\]"):
        lattice.Elements(128, 48, 0, np.zeros((1, 64), dtype=np.uint64))
    with pytest.raises(ValueError, match="1 to 64 bits"):
        lattice.pack_words(np.zeros((1, 1), dtype=np.uint64), 65)
