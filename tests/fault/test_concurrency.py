"""Many threads, native and Python, never share a stream of randomness and never disturb each other."""

from concurrent.futures import ThreadPoolExecutor

from vfxgb import _native
from vfxgb.crypto import PrivateKey


def test_native_threads_draw_distinct_randomness(key: PrivateKey) -> None:
    for encryptor in (key, key.public_key):
        c = encryptor.encrypt([7] * 300, threads=4)
        assert len(set(c.tolist())) == 300
        assert key.decrypt(c, threads=4) == [7] * 300


def test_rerandomize_with_threads(key: PrivateKey) -> None:
    c = key.encrypt([7]).take([0] * 100)
    fresh = c.rerandomize(threads=4)
    assert len(set(fresh.tolist())) == 100
    assert key.decrypt(fresh) == [7] * 100


def test_python_threads_share_a_key(key: PrivateKey) -> None:
    def work(value: int) -> list[int]:
        c = key.encrypt([value] * 10, threads=2) + key.public_key.encrypt([1], threads=1)
        assert key.decrypt(c.rerandomize(threads=2), threads=2) == [value + 1] * 10
        return c.tolist()

    with ThreadPoolExecutor(8) as executor:
        results = list(executor.map(work, range(24)))
    numbers = [number for result in results for number in result]
    assert len(set(numbers)) == len(numbers)


def test_python_threads_share_a_pool(key: PrivateKey) -> None:
    with key.pool(50, threads=2), ThreadPoolExecutor(8) as executor:
        results = list(executor.map(lambda value: key.encrypt([value] * 10, threads=1), range(24)))
    assert [key.decrypt(result) for result in results] == [[value] * 10 for value in range(24)]
    numbers = [number for result in results for number in result.tolist()]
    assert len(set(numbers)) == len(numbers)


def test_random_bytes_of_python_threads_differ() -> None:
    with ThreadPoolExecutor(8) as executor:
        blocks = list(executor.map(lambda _: _native.rand.random_bytes(32), range(500)))
    assert len(set(blocks)) == 500


def test_random_bytes() -> None:
    assert [len(_native.rand.random_bytes(count)) for count in (0, 1, 31, 64, 65, 5000)] == [0, 1, 31, 64, 65, 5000]
    # 80,000 fair bits: outside six standard deviations about once in a billion runs.
    ones = sum(byte.bit_count() for byte in _native.rand.random_bytes(10_000))
    assert abs(ones - 40_000) < 6 * 142
