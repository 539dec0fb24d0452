"""What secure matrix multiplication costs in one node: seconds, and memory beyond the bins.

    python bench/e2e/smm.py [--rows 150000] [--rank 64] [--threads 2] [--repeats 3] [--out docs/results]

Random bins: l = 320 candidates of ten features, l' = 360 with twenty dummy and twenty normal columns. Each step runs in
a process of its own, so that its peak memory is its own; times are the best of the repeats, the peak that of all.

    U of smm1   null-space vectors of [g h]
    W of smm1   M^T Z and all of W, block by block, each let go as it would be sent
    U of smm2   null-space vectors of [M M' Y]
    W of smm2   W_g and W_h, with the subset drawn and the guard

The bars: 2, 4 and 12 seconds for the first three at 150,000 rows, r = 64 and two threads; memory at most the size of U
plus one block, the most that one message carries.

writes smm.md and smm.json.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from vfxgb import _native
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.memory import start_peak
from vfxgb.errors import BenchmarkError
from vfxgb.protocols.smm.cells import NodeMatrix
from vfxgb.protocols.smm.chunks import pieces
from vfxgb.protocols.smm.kernel import Cover, SecureKernel
from vfxgb.protocols.smm.params import DEFAULT_CHUNK_BYTES
from vfxgb.protocols.smm.vectors import answerable, null_vectors, random_vectors
from vfxgb.protocols.smm2.active import draw_answerable, masked

ROOT = Path(__file__).resolve().parent.parent.parent
FEATURES, BINS = 10, 33
COVER = Cover(20, 20, 0.0, 1.0)
STEPS = {"U of smm1": 2.0, "W of smm1": 4.0, "U of smm2": 12.0, "W of smm2": None}


def node(rows: int, threads: int) -> NodeMatrix:
    bins = np.random.default_rng(0).integers(0, BINS, (FEATURES, rows)).astype(np.uint16)
    feature = np.repeat(np.arange(FEATURES, dtype=np.int32), BINS - 1)
    cut = np.tile(np.arange(BINS - 1, dtype=np.int32), FEATURES)
    none, all_of_them = np.zeros(len(cut), dtype=np.bool_), np.ones(len(cut), dtype=np.bool_)
    return NodeMatrix(bins, np.full(FEATURES, BINS, dtype=np.int32), feature, cut, none, all_of_them, threads)


def gradients(rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.6, rows)
    return np.stack([p - (rng.random(rows) < p), p * (1 - p)])


def measure_here(step: str, rows: int, rank: int, threads: int) -> tuple[float, int | None]:
    """Seconds and peak bytes of a step."""
    matrix, pairs = node(rows, threads), gradients(rows)
    received = None if step.startswith("U") else random_vectors(rank, rows, _native.rand.random_bytes, threads)
    if received is not None:
        received /= np.sqrt(rows)
    random_vectors(2, 100_000, _native.rand.random_bytes, threads)  # starts the threads
    peak, start = start_peak(), time.perf_counter()
    made = None
    if step == "U of smm1":
        made = null_vectors(pairs, rank, _native.rand.random_bytes, threads)
    elif step == "U of smm2":
        made = SecureKernel(matrix, COVER, _native.rand.random_bytes).null_vectors(rank)
    elif step == "W of smm1":
        shares = matrix.left_shares(received)
        for first, count in pieces(len(matrix.feature), rows, DEFAULT_CHUNK_BYTES):
            made = matrix.products(shares, received, first, count)
    else:
        basis = draw_answerable(received, threads)
        made = None if basis is None else masked(pairs, basis, threads)
    seconds, used = time.perf_counter() - start, peak()
    # Vectors that may be answered, and answers that say something: a refused node would cost nothing.
    if made is None or not (answerable(made) if step.startswith("U") else made.any()):
        raise BenchmarkError(f"{step}: found a node that the protocol refuses, wanted one that it answers")
    return seconds, used


def measure(step: str, args: argparse.Namespace) -> dict[str, object]:
    runs = []
    for _ in range(args.repeats):
        command = [sys.executable, __file__, "--step", step]
        command += [f"--{name}={getattr(args, name)}" for name in ("rows", "rank", "threads")]
        runs.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
    peaks = [peak for _, peak in runs if peak is not None]
    return {"step": step, "seconds": [seconds for seconds, _ in runs], "peak_bytes": max(peaks) if peaks else None}


def table(measured: list[dict[str, object]], args: argparse.Namespace, machine: dict[str, str]) -> list[str]:
    u_bytes = 8 * args.rank * args.rows
    lines = [
        (
            f"secure matrix multiplication in one node: {args.rows:,} rows, l = {FEATURES * (BINS - 1)}, "
            f"r = {args.rank}, {args.threads} threads; U takes {u_bytes / 1e6:.1f} MB. "
            f"Made by `python bench/e2e/smm.py` on {machine['processor']}, {machine['cores']} cores"
            f"{', commit ' + machine['commit'] if 'commit' in machine else ''}; raw numbers: [smm.json](smm.json)."
        ),
        "",
        "| step | seconds | bar | peak MB | U plus a block, MB |",
        "|---|---|---|---|---|",
    ]
    for entry in measured:
        step, peak = str(entry["step"]), entry["peak_bytes"]
        bar = STEPS[step]
        # For W of smm1 the vectors are there before; for that of smm2 a subset of them is copied.
        allowed = DEFAULT_CHUNK_BYTES + (0 if step == "W of smm1" else u_bytes)
        cells = [f"{min(entry['seconds']):.2f}", "" if bar is None else f"{bar:g}"]
        cells += ["" if peak is None else f"{peak / 1e6:.1f}", f"{allowed / 1e6:.1f}"]
        lines.append(f"| {step} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rows", 150_000), ("rank", 64), ("threads", 2), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        print(json.dumps(measure_here(args.step, args.rows, args.rank, args.threads)))
        return
    measured = [measure(step, args) for step in STEPS]
    machine = machine_facts()
    lines = table(measured, args, machine)
    print("\n".join(lines))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "smm.md").write_text("\n".join(lines) + "\n")
    settings = {name: getattr(args, name) for name in ("rows", "rank", "threads", "repeats")}
    raw = {"machine": machine, "settings": settings, "steps": measured}
    (args.out / "smm.json").write_text(json.dumps(raw, indent=1) + "\n")


if __name__ == "__main__":
    main()
