"""X25519 and HKDF in batches, over every path: published vectors, a twin in Python, and `cryptography`."""

import numpy as np
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st
from tests.support import pair_twin

from vfxgb import _native
from vfxgb.crypto.key_agreement import AgreementKey, context_of, derive
from vfxgb.crypto.key_batches import agree_all, contexts_of, derive_all, rows_of
from vfxgb.errors import InvalidKeyError
from vfxgb.secagg.double_mask.shares import pair_keys

PATHS = _native.crypto.x25519_paths()
over_paths = pytest.mark.parametrize("path", PATHS)

# RFC 7748, section 5.2: scalar, u coordinate, result.
VECTORS = (
    (
        "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
        "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
    ),
    (
        "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
        "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
        "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
    ),
)
ITERATED = {
    1: "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079",
    1000: "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51",
}
NINE = (9).to_bytes(32, "little")
# Of low order, and coordinates that are not reduced: 0, 1, p - 1, p, p + 1, 2^255 - 1.
EDGES = [value.to_bytes(32, "little") for value in (0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18, 2**255 - 1)]
# RFC 5869, test case 3: no salt, no info; the first 32 bytes.
RFC5869 = ("0b" * 22, "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")


def multiply(scalars: list[bytes], points: list[bytes], path: str, threads: int = 1) -> list[bytes]:
    return [row.tobytes() for row in _native.crypto.x25519(rows_of(scalars), rows_of(points), threads, path)]


@over_paths
def test_published_vectors(path: str) -> None:
    scalars, points, results = ([bytes.fromhex(row[i]) for row in VECTORS] for i in range(3))
    assert multiply(scalars, points, path) == results
    assert [pair_twin.x25519(k, u) for k, u in zip(scalars, points, strict=True)] == results


@over_paths
def test_iterated(path: str) -> None:
    k, u = NINE, NINE
    for count in range(1, 1001):
        k, u = multiply([k], [u], path)[0], k
        if count in ITERATED:
            assert k.hex() == ITERATED[count]


keys_of = st.lists(st.tuples(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32)), max_size=20)


@over_paths
@given(pairs=keys_of, threads=st.integers(1, 2))
def test_against_the_twin(path: str, pairs: list[tuple[bytes, bytes]], threads: int) -> None:
    scalars, points = [k for k, _ in pairs], [u for _, u in pairs]
    assert multiply(scalars, points, path, threads) == [pair_twin.x25519(k, u) for k, u in pairs]


@over_paths
def test_edges(path: str) -> None:
    scalars = [bytes(32), b"\xff" * 32, *EDGES]
    for scalar in scalars:
        wanted = [pair_twin.x25519(scalar, point) for point in EDGES]
        assert multiply([scalar], EDGES, path) == wanted
        assert wanted[0] == wanted[3] == bytes(32)


@over_paths
def test_one_key_for_all(path: str) -> None:
    scalars = [AgreementKey().private_bytes() for _ in range(21)]
    wanted = [X25519PrivateKey.from_private_bytes(k).public_key().public_bytes_raw() for k in scalars]
    assert multiply(scalars, [NINE], path, 2) == wanted
    assert multiply(scalars[:1], wanted, path, 2) == multiply(scalars[:1] * 21, wanted, path)


@given(
    count=st.integers(0, 20),
    secret=st.integers(0, 150),
    context=st.integers(0, 150),
    threads=st.integers(1, 2),
    data=st.data(),
)
def test_hkdf(count: int, secret: int, context: int, threads: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    secrets, contexts = (rng.integers(0, 256, (count, size), dtype=np.uint8) for size in (secret, context))
    found = _native.crypto.hkdf_sha256(secrets, contexts, threads)
    assert [row.tobytes() for row in found] == [
        HKDF(hashes.SHA256(), 32, None, info.tobytes()).derive(key.tobytes())
        for key, info in zip(secrets, contexts, strict=True)
    ]
    if count:
        alone = _native.crypto.hkdf_sha256(secrets[:1], contexts, threads)
        assert alone[-1].tobytes() == HKDF(hashes.SHA256(), 32, None, contexts[-1].tobytes()).derive(
            secrets[0].tobytes()
        )


def test_hkdf_as_published() -> None:
    secret, wanted = map(bytes.fromhex, RFC5869)
    found = _native.crypto.hkdf_sha256(np.frombuffer(secret, np.uint8)[None], np.zeros((9, 0), np.uint8))
    assert {row.tobytes() for row in found} == {wanted}


@pytest.mark.parametrize("user", [0, 4, 9])
def test_keys_of_pairs(user: int) -> None:
    """As each pair makes them alone, and the same from both sides with opposite signs."""
    own, run, call, others = AgreementKey(), bytes(range(16)), 7, [u for u in range(10) if u != user]
    keys, secrets = [AgreementKey() for _ in others], [AgreementKey().public for _ in others]
    publics = rows_of([key.public for key in keys])
    found = pair_keys(own, user, publics, others, run, call, rows_of(secrets), 2)
    for i, (peer, key, secret) in enumerate(zip(others, keys, secrets, strict=True)):
        alone = pair_twin.pair_key(own, user, key.public, peer, run, call, secret)
        assert found.keys[i].tobytes() == alone
        assert found.signs[i] == pair_twin.pair_sign(user, peer)
        theirs = pair_keys(key, peer, rows_of([own.public]), [user], run, call, rows_of([secret]), 1)
        assert (theirs.keys[0].tobytes(), theirs.signs[0]) == (alone, -found.signs[i])


def test_contexts_are_those_of_single_keys() -> None:
    run, numbers = b"r" * 16, np.array([0, 3, 2**62])
    rows = contexts_of("use", run, 5, numbers)
    assert [row.tobytes() for row in rows] == [context_of("use", run, 5, number) for number in numbers.tolist()]
    secret = AgreementKey().public
    assert derive_all(rows_of([secret]), rows)[1].tobytes() == derive(secret, context_of("use", run, 5, 3))


def test_a_useless_point_is_named() -> None:
    own, good = AgreementKey(), AgreementKey().public
    publics, count = rows_of([good, good, EDGES[1], EDGES[0]]), 4
    with pytest.raises(InvalidKeyError, match="no X25519 key of full order") as caught:
        agree_all(own, publics, contexts_of("use", b"", np.arange(count)), rows_of([good] * count))
    assert caught.value.index == 2


def test_bad_arguments() -> None:
    rows = np.zeros((3, 32), np.uint8)
    with pytest.raises(ValueError, match="points must have shape"):
        _native.crypto.x25519(rows, rows[:, :31])
    with pytest.raises(ValueError, match="points must have one row, or one for each item"):
        _native.crypto.x25519(rows, np.zeros((2, 32), np.uint8))
    with pytest.raises(ValueError, match="no path 'mmx'"):
        _native.crypto.x25519(rows, rows, 1, "mmx")
    with pytest.raises(ValueError, match="secrets must have one row, or one for each item"):
        _native.crypto.hkdf_sha256(rows[:2], rows)
