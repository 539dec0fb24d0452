"""What attacks are made of, against naive twins."""

from itertools import combinations

import numpy as np
import pytest

from vfxgb.audit.lattice import orthogonal_integers, orthogonal_sets, vectors_wanted
from vfxgb.audit.programs import cube_point
from vfxgb.audit.smm import Accumulated
from vfxgb.audit.subsets import SubsetSums
from vfxgb.errors import MissingPackageError


def null_vectors(rows: np.ndarray, rank: int, rng: np.random.Generator) -> np.ndarray:
    inside, _ = np.linalg.qr(rows.T)
    vectors = rng.normal(size=(rank, rows.shape[1]))
    for _ in range(2):
        vectors -= vectors @ inside @ inside.T
    return np.linalg.qr(vectors.T)[0].T


def test_a_reduced_basis_is_a_basis() -> None:
    rng = np.random.default_rng(0)
    basis = orthogonal_integers(null_vectors(np.ones((1, 12)), 3, rng))
    assert abs(round(np.linalg.det(basis.astype(float)))) == 1


@pytest.mark.parametrize("n", [16, 24])
def test_lattices_give_labels(n: int) -> None:
    """A2: y from vectors orthogonal to a - y and to a constant."""
    rng = np.random.default_rng(n)
    y = (rng.random(n) < 0.3).astype(float)
    vectors = null_vectors(np.stack([0.3 - y, np.full(n, 0.21)]), vectors_wanted(n), rng)
    found = [set(orthogonal_set.tolist()) for orthogonal_set in orthogonal_sets(vectors)]
    ones, zeros = set(np.flatnonzero(y == 1).tolist()), set(np.flatnonzero(y == 0).tolist())
    assert ones in found or zeros in found


def test_lattices_find_nothing_where_nothing_is() -> None:
    rng = np.random.default_rng(3)
    assert orthogonal_sets(null_vectors(rng.normal(size=(2, 14)), 5, rng)) == []


@pytest.mark.parametrize(("rank", "exact"), [(10, True), (30, True), (75, False)])
def test_programs_find_vertices_below_half(rank: int, exact: bool) -> None:
    rng = np.random.default_rng(rank)
    n = 80
    x = (rng.random(n) < 0.4).astype(float)
    mask = np.linalg.qr(rng.normal(size=(n, rank)))[0].T
    found = cube_point(x - x @ mask.T @ mask, mask, rng)
    assert found is not None
    assert bool((np.abs(found - x) < 1e-5).all()) is exact


def test_programs_without_a_point() -> None:
    assert cube_point(np.full(4, 5.0), np.array([[1.0, -1.0, 0.0, 0.0]]), np.random.default_rng(0)) is None


def test_programs_need_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "scipy.optimize", None)
    with pytest.raises(MissingPackageError, match=r"vfxgb\[audit\]"):
        cube_point(np.zeros(2), np.ones((1, 2)), np.random.default_rng(0))


@pytest.mark.parametrize(("bits", "seed"), [(3, 0), (4, 1), (30, 2)])
def test_subset_sums_against_all_subsets(bits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(-(2**bits), 2**bits, size=(12, 2))
    pairs[5] = pairs[3]
    table = SubsetSums(pairs)
    sums: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for k in range(1, 5):
        for members in combinations(range(12), k):
            sums.setdefault(tuple(pairs[list(members)].sum(axis=0).tolist()), []).append(members)
    for target, solutions in sums.items():
        found = table.only(np.array(target))
        if len(solutions) == 1:
            assert found is not None
            assert tuple(found.tolist()) == solutions[0]
        else:
            assert found is None
    assert table.only(np.array([10**12, 1])) is None


def test_accumulated_equations_against_least_squares() -> None:
    rng = np.random.default_rng(5)
    rows = np.arange(10, 40, dtype=np.int32)
    x = rng.normal(size=(2, 30))
    sums = Accumulated.over(rows, 2)
    stacked, right = [], []
    for part in (rows, rows[::2], rows[1::2]):
        place = part - 10
        mask = np.linalg.qr(rng.normal(size=(len(part), len(part) // 2)))[0].T
        project = np.eye(len(part)) - mask.T @ mask
        sums.add(part, mask, x[:, place] @ project)
        block = np.zeros((len(part), 30))
        block[:, place] = project
        stacked.append(block)
        right.append((x[:, place] @ project).T)
    solution, known, null = sums.solve()
    twin = np.linalg.lstsq(np.concatenate(stacked), np.concatenate(right), rcond=1e-9)
    assert len(null) == 30 - twin[2]
    np.testing.assert_allclose(solution[:, known], x[:, known], atol=1e-6)
    np.testing.assert_allclose(solution, twin[0].T, atol=1e-6)
