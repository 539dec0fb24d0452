import time

import pytest

from vfxgb.crypto import CiphertextArray, PrivateKey, PublicKey, generate
from vfxgb.errors import PoolError


def wait_for_level(key, level: int) -> None:
    deadline = time.monotonic() + 20
    while key.pool_level < level and time.monotonic() < deadline:
        time.sleep(0.002)
    assert key.pool_level == level


@pytest.fixture(params=["owner", "public"])
def encryptor(request: pytest.FixtureRequest, key: PrivateKey):
    return key if request.param == "owner" else key.public_key


def test_fills_serves_and_stops(key: PrivateKey, encryptor) -> None:
    values = list(range(100))
    assert encryptor.pool_level == 0
    encryptor.start_pool(20, threads=1)
    try:
        wait_for_level(encryptor, 20)
        # More than the pool holds: the rest is made on the spot.
        c = encryptor.encrypt(values)
        d = encryptor.encrypt(values)
        assert key.decrypt(c) == key.decrypt(d) == values
        assert len(set(c.tolist()) | set(d.tolist())) == 200
        wait_for_level(encryptor, 20)
    finally:
        encryptor.stop_pool()
    assert encryptor.pool_level == 0
    assert key.decrypt(encryptor.encrypt(values)) == values


def test_equal_plaintexts_from_the_pool_differ(encryptor) -> None:
    with encryptor.pool(64, threads=2):
        wait_for_level(encryptor, 64)
        found = [number for _ in range(8) for number in encryptor.encrypt([1] * 40).tolist()]
    assert len(set(found)) == len(found)


def test_rerandomize_with_a_pool(key: PrivateKey) -> None:
    c = key.encrypt([1, 2, 3])
    rerandomizer = key.public_key.rerandomizer
    with rerandomizer.pool(8, threads=1):
        wait_for_level(rerandomizer, 8)
        fresh = [c.rerandomize() for _ in range(5)]
    assert all(key.decrypt(array) == [1, 2, 3] for array in fresh)
    numbers = [number for array in [c, *fresh] for number in array.tolist()]
    assert len(set(numbers)) == len(numbers)


def test_encryption_and_rerandomising_have_pools_of_their_own(key: PrivateKey) -> None:
    """Units for encryption are powers of the key's h, which its owner chose: they must not hide anything from it."""
    public = key.public_key
    c = key.encrypt([1, 2, 3])
    with public.pool(8, threads=1):
        wait_for_level(public, 8)
        assert key.decrypt(c.rerandomize()) == [1, 2, 3]
        assert public.pool_level == 8
        assert public.rerandomizer.pool_level == 0


def test_stops_when_the_block_fails(encryptor) -> None:
    with pytest.raises(ZeroDivisionError), encryptor.pool(4, threads=1):
        raise ZeroDivisionError
    assert encryptor.pool_level == 0


def test_stopping_twice_and_starting_again(encryptor) -> None:
    encryptor.stop_pool()
    for capacity in (4, 6):
        with encryptor.pool(capacity, threads=1):
            wait_for_level(encryptor, capacity)
    encryptor.stop_pool()
    assert encryptor.pool_level == 0


def test_a_key_may_die_with_its_pool_running() -> None:
    key = generate("paillier", 512, insecure=True)
    key.start_pool(1000, threads=2)
    key.public_key.start_pool(1000, threads=2)
    c = key.encrypt([5])
    reader = PrivateKey.from_bytes(key.to_bytes(), insecure=True)
    del key
    assert reader.decrypt(c) == [5]


@pytest.mark.parametrize("capacity", [0, -1, True, 2.0, "8", None])
def test_bad_capacity(encryptor, capacity: object) -> None:
    with pytest.raises(PoolError, match="capacity"):
        encryptor.start_pool(capacity)
    assert encryptor.pool_level == 0


@pytest.mark.parametrize("count", [0, -1, 1.5, "10", True])
def test_preparing_for_what_is_no_count(make_key, count: object) -> None:
    with pytest.raises(PoolError, match=r"preparing to encrypt: found count=.*, wanted an integer of at least 1"):
        make_key("ou", 512).public_key.prepare(count)


def test_preparing_changes_no_plaintext(key: PrivateKey) -> None:
    public = PublicKey.from_bytes(key.public_key.to_bytes(), insecure=True)
    bound = public.max_plaintext
    values = [0, 1, -1, 2**62 - 1, 2**62, -(2**62), bound, -bound] * 20
    for count in (1, 5000):
        public.prepare(count, threads=2)
        c = public.encrypt(values, threads=2)
        assert key.decrypt(CiphertextArray.from_bytes(key.public_key, c.to_bytes())) == values
        assert len(set(c.tolist())) == len(values)
