"""Mechanisms of differential privacy (cpp/noise), and the noise, masks and sums of the protocol masked."""

import numpy as np
from numpy.typing import NDArray

def random_normals(count: int) -> NDArray[np.float64]:
    """Standard normal numbers from the CSPRNG (cpp/noise/normal.h)."""

def masked_noise(
    columns: NDArray[np.uint16],
    start: NDArray[np.int64],
    column: NDArray[np.int64],
    cut: NDArray[np.int64],
    missing_left: NDArray[np.int64],
    shaped: NDArray[np.bool_],
    sigma1: float,
    sigma2: float,
    normals: NDArray[np.float64] | None = None,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Noise vectors [k, rows] of MaskedXGBoost for k candidates (cpp/noise/masked_noise.h), from `normals` if given.

    Rows [start[i], start[i + 1]) are node i's; at candidate j a row goes left if its bin in columns[column[j]] is at
    most cut[j] or is missing_left[j] (-1 for none). Where not shaped[j, i], noise does not depend on who goes left.
    """

def add_noise(
    base: NDArray[np.float64],
    noise: NDArray[np.float64],
    start: NDArray[np.int64],
    factor: NDArray[np.float64],
    out: NDArray[np.float64],
    threads: int = 1,
) -> None:
    """out[j, v, row] = base[j, v, row] + factor[j, v, node of row] * noise[j, row]; `out` may be `base`.

    A two-dimensional base is that of every candidate j.
    """

def masked_sums(
    columns: NDArray[np.uint16],
    start: NDArray[np.int64],
    column: NDArray[np.int64],
    cut: NDArray[np.int64],
    missing_left: NDArray[np.int64],
    masked: NDArray[np.float64],
    threads: int = 1,
) -> NDArray[np.float64]:
    """Sums [k, nodes, vectors] of masked [k, vectors, rows] over the rows that go left, rounded once."""

def perturb(mechanism: str, parameters: list[int], values: NDArray[np.int64], threads: int = 1) -> NDArray[np.int64]:
    """One exact draw of a mechanism of cpp/noise/mechanisms.h for each value; parameters in the order of its fields."""

def release_pairs(
    pairs: NDArray[np.int64],
    gradient: tuple[str, list[int], int, int, int],
    hessian: tuple[str, list[int], int, int, int],
    threads: int = 1,
) -> NDArray[np.int64]:
    """Columns of pairs, rescaled and perturbed as noise::Column says: (mechanism or "", parameters, coarser, centre,
    finer) for each.
    """

def perturb_replay(
    mechanism: str, parameters: list[int], values: NDArray[np.int64], words: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], int]:
    """The same draws from the given random words, and how many of them were used: noise that can be made again.

    ValueError if there are too few.
    """
