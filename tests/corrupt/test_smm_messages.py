"""Messages of smm1 and smm2 that are not what they should be: each refused, with its own error."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tampering import Change, error_of, replaced, toy_run
from vfxgb.errors import MessageError, PeerError, PrecisionError, VfxgbError
from vfxgb.protocols.smm.messages import Smm1Basis, Smm1Products, Smm2Basis, Smm2Products, Smm2Sums
from vfxgb.train import simulate
from vfxgb.transport.messages import pack_array, pack_bytes

N = 60
HE = {"key_bits": 256, "randomness": "short", "insecure": True, "pool": False}
QUICK = {"insecure": True, "r": 4, "small_nodes": "batch_he", "he": HE, "chunk_bytes": 16 * N}
COVER = {"l1": 2, "l2": 2}


def given(protocol: str, params: dict[str, Any]) -> dict[str, Any]:
    return QUICK | (COVER if protocol == "smm2" else {}) | params


def train(protocol: str, **params: Any) -> simulate.FitResult:
    return toy_run(protocol, given(protocol, params))


@pytest.fixture
def tampered(monkeypatch) -> Callable[..., VfxgbError]:
    """tampered(change, at, protocol, **params): see tampering.error_of."""

    def run(change: Change, at: str, protocol: str, **params: Any) -> VfxgbError:
        return error_of(monkeypatch, change, at, protocol, given(protocol, params))

    return run


def later(message: Any) -> bool:
    return bool(message.first > 0)


def cut(data: memoryview) -> memoryview:
    return data[:-8]


def changed(change: Callable[[np.ndarray], Any]) -> Callable[[memoryview], memoryview]:
    """Float64 data, changed in place."""

    def apply(data: memoryview) -> memoryview:
        values = np.frombuffer(data, dtype=np.float64).copy()
        change(values)
        return pack_array(values)

    return apply


def equal_rows(values: np.ndarray) -> None:
    rows = values.reshape(-1, N)
    rows[:] = rows[0]


NAN = changed(lambda values: values.__setitem__(3, np.nan))
SAME = changed(equal_rows)
ZERO = changed(lambda values: values.__setitem__(slice(None), 0.0))
NOISE = changed(lambda values: np.add(values, 1.2345e-5, out=values))


@pytest.mark.parametrize("protocol", ["smm1", "smm2"])
def test_an_honest_run_ends_well(protocol) -> None:
    assert train(protocol).active_share.n_rounds == 2


BASES = [
    ({"round": 7}, "found round 7, depth 0, tree 0, node 0, wanted round 0, depth 0, tree 0, node 0"),
    ({"depth": 1}, "depth 1"),
    ({"tree": 1}, "tree 1"),
    ({"node": 5}, "node 5"),
    ({"rank": 5}, "found 5 vectors, wanted 0 to 4"),
    ({"rank": -1}, "found -1 vectors"),
    ({"first": 1}, "found 2 rows from 1, wanted at least 1 from 0 on, of 4"),
    ({"vectors": cut}, "found 952 bytes, wanted 480"),
    ({"vectors": pack_bytes(b"")}, "found 0 rows from 0"),
    ({"vectors": NAN}, "not finite or not independent"),
    ({"vectors": SAME}, "not finite or not independent"),
    ({"vectors": ZERO}, "not finite or not independent"),
]


@pytest.mark.parametrize(("changes", "match"), BASES)
@pytest.mark.parametrize(("protocol", "kind", "liar"), [("smm1", Smm1Basis, "bank"), ("smm2", Smm2Basis, "shop")])
def test_a_basis_is_refused(protocol, kind, liar, changes, match, tampered) -> None:
    error = tampered(replaced(kind, lambda message: message.first == 0, **changes), liar, protocol)
    assert isinstance(error, MessageError)
    assert re.search(match, str(error))
    if liar == "bank":
        assert isinstance(error.__cause__, PeerError)


@pytest.mark.parametrize(("protocol", "kind", "liar"), [("smm1", Smm1Basis, "bank"), ("smm2", Smm2Basis, "shop")])
def test_later_pieces_of_a_basis(protocol, kind, liar, tampered) -> None:
    for changes, match in (
        ({"first": 0}, "found 2 rows from 0, wanted at least 1 from 2 on, of 4"),
        ({"rank": 3}, "found 3 vectors, wanted 4 vectors"),
        ({"round": 1}, "found round 1"),
    ):
        error = tampered(replaced(kind, later, **changes), liar, protocol)
        assert isinstance(error, MessageError)
        assert re.search(match, str(error))


def test_fewer_vectors_than_agreed(tampered) -> None:
    two = {"rank": 2, "vectors": lambda data: data[: 2 * 8 * N]}
    once = replaced(Smm1Basis, lambda message: message.first == 0, **two)
    error = tampered(once, "bank", "smm1")
    assert "found 2 vectors, wanted 4 vectors" in str(error)
    once = replaced(Smm2Basis, lambda message: message.first == 0 and message.rank, **two)
    error = tampered(once, "shop", "smm2")
    assert "found 2 vectors, wanted 4, or 0 for a small node" in str(error)


@pytest.mark.parametrize(
    ("changes", "kind", "match"),
    [
        ({"round": 3}, MessageError, "reading products of shop, tree 0, node 0: found round 3"),
        ({"node": 1}, MessageError, "node 1"),
        ({"n_candidates": -1}, MessageError, "found -1 products"),
        ({"n_candidates": 1}, MessageError, "found 2 rows from 0, wanted at least 1 from 0 on, of 1"),
        ({"n_candidates": 10**12}, MessageError, "found 1000000000000 products, wanted 0 to"),
        ({"first": 3}, MessageError, "from 3"),
        ({"products": cut}, MessageError, "found 952 bytes"),
        ({"constraint": pack_bytes(b"11")}, MessageError, "found 2 bytes, wanted 0"),
        ({"products": NAN}, PrecisionError, "lower precision_bits"),
        ({"products": NOISE}, PrecisionError, "steps off a whole number of steps"),
    ],
)
def test_products_of_smm1_are_refused(changes, kind, match, tampered) -> None:
    error = tampered(replaced(Smm1Products, lambda message: message.first == 0, **changes), "shop", "smm1")
    assert isinstance(error, kind)
    assert re.search(match, str(error))


def test_another_number_of_candidates_in_a_later_node(tampered) -> None:
    two_of_14 = {"n_candidates": 2, "products": lambda data: data[: len(data) // 7]}
    fewer = replaced(Smm1Products, lambda message: message.depth == 1, **two_of_14)
    error = tampered(fewer, "shop", "smm1", chunk_bytes=1 << 20)
    assert "found 2 candidates in tree 0, wanted 14 as in the nodes before" in str(error)


@pytest.mark.parametrize(
    ("changes", "kind", "match"),
    [
        ({"round": 3}, MessageError, "shop reading products of tree 0, node 0: found round 3"),
        ({"tree": 2}, MessageError, "tree 2"),
        ({"products": cut}, MessageError, "found 952 bytes, wanted 960"),
        ({"products": NAN}, PrecisionError, "products that are not finite"),
        ({"products": NOISE}, PrecisionError, "steps off a whole number of steps"),
        ({"products": changed(lambda values: values.__setitem__(0, 1e30))}, PrecisionError, "too large"),
    ],
)
def test_products_of_smm2_are_refused(changes, kind, match, tampered) -> None:
    error = tampered(replaced(Smm2Products, lambda message: len(message.products) > 0, **changes), "bank", "smm2")
    assert isinstance(error, kind)
    assert re.search(match, str(error))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"round": 9}, "shop reading sums of small nodes of tree 0: found round 9"),
        ({"tree": 1}, "tree 1"),
        ({"sums": cut}, "bytes, wanted"),
    ],
)
def test_sums_of_small_nodes_are_refused(changes, match, tampered) -> None:
    error = tampered(replaced(Smm2Sums, **changes), "bank", "smm2")
    assert isinstance(error, MessageError)
    assert re.search(match, str(error))
