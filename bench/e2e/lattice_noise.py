"""The noise of lattice sums, measured against what parameters say: deviation, tails, and the failures that follow.

Every node has weights of the largest norm that there is room for, where noise is largest. A sum is wrong if its noise
reaches Delta / 2; with fewer sums than 2^40 that is not seen, so tails are compared with a normal distribution's, and
the failure probability is that of the measured deviation: 2 exp(-(Delta / 2)^2 / (2 deviation^2)).

    python bench/e2e/lattice_noise.py [--sums 1000000] [--rows 1000 10000 100000]
"""

import argparse
import math

import numpy as np

from vfxgb.lattice import BitColumns, ColumnHolder, ColumnOwner, HolderSettings, LatticeParams, Level, open_noise

COLUMNS = 500
NODES = 50
TAILS = (1, 2, 3, 4)


def largest_node(params: LatticeParams, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """As many rows as leave room for weights of norm 2^norm_bits."""
    room, norm = 2.0**params.value_bits / 32, 2.0**params.norm_bits
    for count in range(min(params.rows, 400) // 2 * 2, 0, -2):
        rows = np.sort(generator.choice(params.rows, count, replace=False))
        half = np.abs(generator.standard_normal(count // 2))
        half *= 0.999 * norm / math.sqrt(2) / float(np.linalg.norm(half))
        u = np.concatenate([np.floor(half), -np.floor(half)]).astype(np.int64)
        if np.floor(half).sum() <= room - 1:
            return rows, generator.permutation(u)
    raise SystemExit(f"no node of norm 2^{params.norm_bits} has room in {params.describe()}")


def measure(rows: int, ring: str, sums: int) -> str:
    """A line of the table."""
    generator = np.random.default_rng(1)
    left = generator.random((COLUMNS, rows)) < 0.5
    owner = ColumnOwner("active", BitColumns(left, np.full(COLUMNS, 8)), threads=1)
    found = []
    settings = HolderSettings(ring=ring, threads=1, ahead=NODES)  # type: ignore[arg-type]
    with ColumnHolder("passive", rows, settings) as holder:
        seed = holder.accept(owner.offer(holder.open()))
        if seed is not None:
            owner.accept(seed)
        holder.add_zeros(owner.zeros())
        for block in owner.blocks():
            holder.add(block)
        params = holder.params
        norms = []
        while sum(len(each) for each in found) < sums:
            level = Level.of([largest_node(params, generator) for _ in range(NODES)])
            squares = np.concatenate([[0.0], np.cumsum(level.weights.astype(np.float64) ** 2)])[level.offsets]
            norms.append(np.sqrt(np.diff(squares)))
            message, own = holder.sum(level)
            found.append(open_noise(own.x + owner.shares(message), params).ravel())
    noise = np.concatenate(found).astype(np.float64)
    deviation = float(noise.std())
    predicted = math.sqrt(params.noise_variance(float(np.sqrt(np.mean(np.concatenate(norms) ** 2)))))
    tails = [np.mean(np.abs(noise) > t * deviation) / math.erfc(t / math.sqrt(2)) for t in TAILS]
    reach = 2.0**params.log_delta / deviation
    failure = (reach / 2) ** 2 / 2 / math.log(2) - 1
    cells = [f"{rows:,}", str(params.ring), f"{len(noise):,}", f"{deviation / predicted:.4f}"]
    cells += [f"{each:.3f}" for each in tails]
    cells += [f"{np.abs(noise).max() / deviation:.2f}", f"{reach:.1f}", f"2^-{failure:.0f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sums", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    arguments = parser.parse_args()
    heads = ["rows", "ring", "sums", "deviation, measured / computed"]
    heads += [f"beyond {t} deviations, against normal" for t in TAILS]
    heads += ["largest, in deviations", "Delta, in deviations", "failure of a sum"]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for rows in arguments.rows:
        for ring in ("auto", "wide"):
            print(measure(rows, ring, arguments.sums), flush=True)


if __name__ == "__main__":
    main()
