"""The noise of lattice sums, measured against what parameters say: deviation, tails, and the failures that follow.

Every node has weights of the largest norm that there is room for, where noise is largest. A sum is wrong if its noise
reaches Delta / 2; with fewer sums than 2^40 that is not seen, so tails are compared with a normal distribution's, and
the failure probability is that of the measured deviation: 2 exp(-(Delta / 2)^2 / (2 deviation^2)). Of two columns in a
word the lower one counts: it has the smaller Delta.

    python bench/e2e/lattice_noise.py [--sums 1000000] [--rows 1000 10000 100000] [--json FILE]

With --json the figure is written next to the file: how often noise exceeds t deviations, measured, beside a normal
distribution and the bound 2 exp(-t^2 / 2), out to Delta / 2.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from vfxgb.bench.machine import machine_facts
from vfxgb.lattice import BitColumns, ColumnHolder, ColumnOwner, HolderSettings, LatticeParams, Level, open_noise

mpl.use("Agg")
from matplotlib.figure import Figure

COLUMNS = 500
NODES = 50
TAILS = (1, 2, 3, 4)
# Of a curve of the figure: distances in deviations, and the lowest probability on its axis, as a power of two.
DISTANCES = np.arange(0, 6.01, 0.1)
LOWEST = -760


def largest_node(params: LatticeParams, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """As many rows as leave room for weights of norm 2^norm_bits."""
    room, norm = 2.0**params.value_bits / 32, 2.0**params.norm_bits
    for count in range(min(params.rows, 400) // 2 * 2, 0, -2):
        half = np.abs(generator.standard_normal(count // 2))
        half *= 0.999 * norm / math.sqrt(2) / float(np.linalg.norm(half))
        u = np.concatenate([np.floor(half), -np.floor(half)]).astype(np.int64)
        if np.floor(half).sum() <= room - 1:
            rows = np.sort(generator.choice(params.rows, count, replace=False))
            return rows, generator.permutation(u)
    raise SystemExit(f"no node of norm 2^{params.norm_bits} has room in {params.describe()}")


def measure(rows: int, ring: str, sums: int) -> dict[str, Any]:
    """What is known of the noise of so many sums or more."""
    generator = np.random.default_rng(1)
    left = generator.random((COLUMNS, rows)) < 0.5
    owner = ColumnOwner("active", BitColumns(left, np.full(COLUMNS, 8)), threads=1)
    noises = []
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
        while sum(len(noise) for noise in noises) < sums:
            level = Level.of([largest_node(params, generator) for _ in range(NODES)])
            squares = np.concatenate([[0.0], np.cumsum(level.weights.astype(np.float64) ** 2)])[level.offsets]
            norms.append(np.sqrt(np.diff(squares)))
            message, own = holder.sum(level)
            total = own.x + owner.shares(message)
            if params.columns_per_word == 2:
                noises.append((open_noise(total[:, 1::2], params) >> params.lower_shift).ravel())
            else:
                noises.append(open_noise(total, params).ravel())
    noise = np.concatenate(noises).astype(np.float64)
    deviation = float(noise.std())
    sizes = np.sort(np.abs(noise) / deviation)
    beyond = 1 - np.searchsorted(sizes, DISTANCES, side="right") / len(sizes)
    delta = 2.0**params.log_delta / deviation
    return {
        "rows": rows,
        "ring": str(params.ring) + (", pairs" if params.columns_per_word == 2 else ""),
        "sums": len(noise),
        "computed": math.sqrt(params.noise_variance(float(np.sqrt(np.mean(np.concatenate(norms) ** 2))))),
        "deviation": deviation,
        "tails": [float(np.mean(sizes > t)) / math.erfc(t / math.sqrt(2)) for t in TAILS],
        "beyond": beyond.tolist(),
        "largest": float(sizes[-1]),
        "delta": delta,
        "failure_log2": 1 - (delta / 2) ** 2 / 2 / math.log(2),
    }


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """The figure: on the left what was measured, on the right the bound out to where a sum is wrong."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    near, far = figure.subplots(1, 2)
    for line in lines:
        seen = np.array(line["beyond"])
        near.plot(DISTANCES[seen > 0], seen[seen > 0], label=f"{line['rows']:,} rows, {line['ring']}", linewidth=1)
    normal = [math.erfc(t / math.sqrt(2)) for t in DISTANCES]
    near.plot(DISTANCES, normal, "k:", label="normal distribution")
    near.set(yscale="log", ylim=(1e-7, 2), xlabel="t, in measured deviations", ylabel="sums with more noise than t")
    near.legend(fontsize="x-small")
    reach = [line["delta"] / 2 for line in lines]
    distances = np.linspace(1.5, max(reach) + 3, 200)
    far.plot(distances, 1 - distances**2 / 2 / math.log(2), "k", label="bound, 2 exp(-t² / 2)")
    far.plot(reach, [line["failure_log2"] for line in lines], "o", label="Delta / 2, where a sum is wrong")
    far.axhline(-40, linestyle=":", color="k")
    far.annotate("one sum in 2^40", (distances[-1], -40), ha="right", va="bottom", fontsize="x-small")
    far.set(ylim=(LOWEST, 0), xlabel="t, in measured deviations", ylabel="log2 of the probability")
    far.legend(fontsize="x-small", loc="lower left")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print what was measured; with --json write it, and the figure, to docs/results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sums", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--json", type=Path, default=None, help="write the result, and the figure beside it")
    arguments = parser.parse_args()
    lines = []
    for rows in arguments.rows:
        for ring in ("auto", "wide", "pairs"):
            lines.append(measure(rows, ring, arguments.sums))
            print(json.dumps({name: value for name, value in lines[-1].items() if name != "beyond"}), flush=True)
    if arguments.json is not None:
        result = {"machine": machine_facts(), "settings": {"sums": arguments.sums}, "lines": lines}
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        draw(lines, arguments.json.with_suffix(".png"))


if __name__ == "__main__":
    main()
