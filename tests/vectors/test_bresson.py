"""Known answers 6 and 7 of ERRATA section 4: a toy group, and an aggregation with one user gone."""

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.crypto.bresson import BressonGroup

N = 161
PRIVATE = (3, 5, 8)
INPUTS, RANDOMNESS = (10, -4, 7), (4, 6, 11)


@pytest.fixture(scope="module")
def group() -> BressonGroup:
    return BressonGroup.from_primes(7, 23, alpha=2, insecure=True)


def integers(group: BressonGroup, rows: np.ndarray) -> list[int]:
    return [group.integer(row.tobytes()) for row in rows]


def test_group_and_keys(group: BressonGroup) -> None:
    assert (group.n, group.g) == (N, 8594)
    powers = integers(group, group.power_of_g(list(range(67))))
    assert powers[66] == 1
    assert len(set(powers)) == 66
    assert integers(group, group.power_of_g([9, *PRIVATE])) == [19403, 13817, 19925, 22705]


def pairwise_masks(group: BressonGroup) -> list[int]:
    """Upsilon_u with phi(x) = x mod 161."""
    public = [row.tobytes() for row in group.power_of_g(PRIVATE)]
    out = []
    for u, private in enumerate(PRIVATE):
        shared = [integers(group, group.power_of_public(peer, [private]))[0] % N for peer in public]
        out.append((sum(shared[u + 1 :]) - sum(shared[:u])) % N)
    return out


@pytest.mark.parametrize(("present", "total"), [((0, 1, 2), 13), ((0, 2), 17)])
def test_aggregation(group: BressonGroup, present: tuple[int, ...], total: int) -> None:
    masks = pairwise_masks(group)
    assert masks == [154, 129, 39]
    assert sum(masks) % N == 0
    blinders = group.power_of_g(RANDOMNESS)
    assert integers(group, blinders) == [25118, 1324, 19043]
    server = group.power_of_g([9])[0].tobytes()
    # The toy's phi_r(x) = x mod 31 + 1 stands for the key stream of masked_sum.py.
    phi = np.array([[value % 31 + 1] for value in integers(group, blinders)], dtype=np.uint8)
    product = _native.crypto.ElementProducts(group.native, 1)
    powers = _native.crypto.PowerProducts(group.native, 1, 8)
    ciphertexts = []
    for u in range(3):
        base = group.power_of_public(server, [RANDOMNESS[u]])
        c = group.native.powers(base, phi[u : u + 1], group.plaintexts([INPUTS[u] + masks[u]]))
        ciphertexts += integers(group, c)
        if u in present:
            assert product.multiply(c) == -1
            powers.multiply(blinders[u : u + 1], phi[u].reshape(1, 1, 1))
    assert ciphertexts == [14253, 10767, 7407]
    opened = group.numbers(group.decrypt(9, powers.elements(), product.elements()))[0]
    gone = sum(masks[u] for u in range(3) if u not in present)
    assert group.centred(group.plaintexts([opened + gone])) == [total]
