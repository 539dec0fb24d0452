"""Homomorphic operations against plain integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.crypto import CiphertextArray, PrivateKey
from vfxgb.errors import IntegerTypeError, KeyMismatchError, LengthMismatchError, PlaintextRangeError

SMALL = st.integers(-(2**100), 2**100)


@given(values=st.lists(SMALL, max_size=20))
def test_round_trip(key: PrivateKey, values: list[int]) -> None:
    assert key.decrypt(key.encrypt(values)) == values
    assert key.decrypt(key.public_key.encrypt(values)) == values


@given(pairs=st.lists(st.tuples(SMALL, SMALL), max_size=9))
def test_add(key: PrivateKey, pairs: list[tuple[int, int]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    expected = [x + y for x, y in pairs]
    assert key.decrypt(key.encrypt(a) + key.encrypt(b)) == expected
    assert key.decrypt(key.encrypt(a).add_plain(b)) == expected


@given(values=st.lists(SMALL, max_size=9), other=SMALL)
def test_one_goes_with_many(key: PrivateKey, values: list[int], other: int) -> None:
    many, one = key.encrypt(values), key.encrypt([other])
    expected = [value + other for value in values]
    assert key.decrypt(many + one) == expected
    assert key.decrypt(one + many) == expected
    assert key.decrypt(many.add_plain([other])) == expected


@given(pairs=st.lists(st.tuples(SMALL, st.integers(-(2**70), 2**70)), max_size=9))
def test_scale(key: PrivateKey, pairs: list[tuple[int, int]]) -> None:
    c = key.encrypt([value for value, _ in pairs])
    assert key.decrypt(c.scale([factor for _, factor in pairs])) == [value * factor for value, factor in pairs]
    assert key.decrypt(c.scale(-3)) == [-3 * value for value, _ in pairs]


@given(data=st.data(), values=st.lists(SMALL, min_size=1, max_size=20))
def test_take_and_sum(key: PrivateKey, data: st.DataObject, values: list[int]) -> None:
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=30))
    c = key.encrypt(values)
    assert key.decrypt(c.take(rows)) == [values[row] for row in rows]
    assert key.decrypt(c.sum(rows)) == [sum(values[row] for row in rows)]
    assert key.decrypt(c.sum()) == [sum(values)]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    chosen = [value for value, keep in zip(values, mask, strict=True) if keep]
    assert key.decrypt(c.take(mask)) == chosen
    assert key.decrypt(c.sum(mask)) == [sum(chosen)]


@given(values=st.lists(SMALL, max_size=9), more=st.lists(SMALL, max_size=9))
def test_concat_rerandomize_and_bytes(key: PrivateKey, values: list[int], more: list[int]) -> None:
    c = key.encrypt(values).concat(key.public_key.encrypt(more))
    assert len(c) == len(values) + len(more)
    assert c.public_key == key.public_key
    fresh = c.rerandomize()
    assert key.decrypt(c) == key.decrypt(fresh) == values + more
    assert not set(c.tolist()) & set(fresh.tolist())
    for again in (
        CiphertextArray.from_bytes(key.public_key, c.to_bytes()),
        CiphertextArray.from_ints(key.public_key, c.tolist()),
    ):
        assert again.tolist() == c.tolist()
        assert key.decrypt(again) == values + more


def test_operations_on_ciphertexts_are_the_textbook_ones(key: PrivateKey) -> None:
    modulus = key.public_key.ciphertext_modulus
    a, b = key.encrypt([3, 4, 5]), key.encrypt([7, 8, 9])
    x, y = a.tolist(), b.tolist()
    assert (a + b).tolist() == [i * j % modulus for i, j in zip(x, y, strict=True)]
    assert a.sum().tolist() == [x[0] * x[1] * x[2] % modulus]
    assert a.scale([0, 1, -2]).tolist() == [1, x[1], pow(x[2], -2, modulus)]
    assert a.take([2, 2, 0]).tolist() == [x[2], x[2], x[0]]
    assert a.sum([]).tolist() == [1]


def test_int64_arrays(key: PrivateKey) -> None:
    values = np.array([0, 1, -1, 2**62, -(2**62)])
    assert key.decrypt(key.encrypt(values)) == values.tolist()
    assert key.decrypt(key.encrypt(values).add_plain(values)) == (2 * values.astype(object)).tolist()
    assert key.decrypt(key.encrypt(values).scale(np.arange(5, dtype=np.uint8))) == [0, 1, -2, 3 * 2**62, -(2**64)]


def test_empty_arrays(key: PrivateKey) -> None:
    empty = key.encrypt([])
    assert len(empty) == 0
    assert empty.nbytes == 0
    assert key.decrypt(empty) == []
    assert empty.tolist() == []
    assert key.decrypt(empty.sum()) == [0]
    assert len(empty + empty) == len(empty.scale(2)) == len(empty.rerandomize()) == len(empty.take([])) == 0
    assert len(empty.add_plain([])) == len(empty.concat(empty)) == 0
    assert len(CiphertextArray.from_bytes(key.public_key, empty.to_bytes())) == 0
    assert len(CiphertextArray.from_ints(key.public_key, [])) == 0


def test_edge_of_the_plaintext_range(key: PrivateKey) -> None:
    bound = key.max_plaintext
    c = key.encrypt([bound, -bound])
    assert key.decrypt(c.add_plain([-bound, bound])) == [0, 0]
    assert key.decrypt(c.scale(-1)) == [-bound, bound]
    assert key.decrypt(c.sum()) == [0]


@pytest.mark.parametrize("sign", [1, -1])
def test_out_of_range(key: PrivateKey, sign: int) -> None:
    value = sign * (key.max_plaintext + 1)
    c = key.encrypt([1, 2])
    for call in (key.encrypt, key.public_key.encrypt, c.add_plain, c.scale):
        with pytest.raises(PlaintextRangeError, match="index 1"):
            call([0, value])


@pytest.mark.parametrize("values", [[0.5, 1.0], np.array([0.5, 1.0]), [True, False], ["1", "2"], None, "12"], ids=repr)
def test_wrong_types(key: PrivateKey, values: object) -> None:
    c = key.encrypt([1, 2])
    for call in (key.encrypt, key.public_key.encrypt, c.add_plain, c.scale):
        with pytest.raises(IntegerTypeError):
            call(values)


def test_scale_by_a_bool_or_float(key: PrivateKey) -> None:
    for factor in (True, 2.0, None):
        with pytest.raises(TypeError):
            key.encrypt([1]).scale(factor)


def test_lengths(key: PrivateKey) -> None:
    two, three = key.encrypt([1, 2]), key.encrypt([1, 2, 3])
    with pytest.raises(LengthMismatchError, match="lengths 2 and 3"):
        two + three
    for call in (three.add_plain, three.scale):
        with pytest.raises(LengthMismatchError, match="2 values for 3 ciphertexts"):
            call([1, 2])
        with pytest.raises(LengthMismatchError, match="0 values for 3 ciphertexts"):
            call([])


def test_mixed_keys(make_key) -> None:
    a = make_key("paillier").encrypt([1])
    for other in (make_key("paillier", randomness="short"), make_key("ou")):
        b = other.encrypt([1])
        for call in (a.add, a.concat, a.__add__):
            with pytest.raises(KeyMismatchError, match="found keys"):
                call(b)


@pytest.mark.parametrize("other", [1, [1], np.array([1]), None, "c"])
def test_adding_something_else(key: PrivateKey, other: object) -> None:
    c = key.encrypt([1])
    with pytest.raises(TypeError, match="add_plain"):
        c + other
    with pytest.raises(TypeError):
        other + c
    for call in (c.add, c.concat):
        with pytest.raises(TypeError, match="CiphertextArray"):
            call(other)


def test_rows_out_of_range(key: PrivateKey) -> None:
    c = key.encrypt([1, 2])
    for call in (c.take, c.sum):
        for rows in ([2], [-1], [0, 2**70]):
            with pytest.raises((IndexError, TypeError)):
                call(rows)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_results_do_not_depend_on_threads(key: PrivateKey, threads: int) -> None:
    values = list(range(-50, 51))
    a, b = key.encrypt(values), key.encrypt(values)
    assert a.sum(threads=threads).tolist() == a.sum(threads=1).tolist()
    assert a.sum(range(0, 101, 2), threads).tolist() == a.sum(range(0, 101, 2), 1).tolist()
    assert a.add(b, threads).tolist(threads) == a.add(b, 1).tolist(1)
    assert a.scale(values, threads).tolist() == a.scale(values, 1).tolist()
    assert a.add_plain(values, threads).tolist() == a.add_plain(values, 1).tolist()
    assert a.to_bytes(threads) == a.to_bytes(1)
    assert key.decrypt(a, threads) == key.decrypt(a, 1) == values
    assert CiphertextArray.from_bytes(key.public_key, a.to_bytes(), threads).tolist() == a.tolist()


def test_a_ciphertext_has_one_length_on_the_wire(key: PrivateKey) -> None:
    lengths = {len(key.encrypt([value]).to_bytes()) for value in (0, 1, -1, 2**100, key.max_plaintext)}
    assert len(lengths) == 1
    one, two = key.encrypt([0]), key.encrypt([0, 0])
    assert len(two.to_bytes()) - len(one.to_bytes()) == key.public_key.wire_bytes
