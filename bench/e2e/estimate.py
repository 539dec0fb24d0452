"""The constants of vfxgb.party.estimate: seconds per tree of every protocol, fitted to small trainings.

Each protocol trains tables of a few sizes with two parties in memory; non-negative least squares gives what a tree
costs by itself, per row, per row, feature and level, and per bucket of a passive party. Seconds are those of the
processor, over two cores, so that a busy machine does not spoil them. Prints the entries of party/costs.json.
"""

import json
import sys
import time
from dataclasses import fields

import numpy as np
from scipy.optimize import nnls

from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.data.table import Table
from vfxgb.params import TrainParams
from vfxgb.party.estimate import KEY_BITS, Costs, Shape, terms
from vfxgb.protocols import protocol_by_name, protocol_names
from vfxgb.train.simulate import SimulatedInput, fit, plan_for

TREES = 3
CORES = 2
# Protocols without encryption are so fast that only larger tables show anything.
FAST = ("federboost", "ldp", "ot_shares", "plain", "sealed")
# Null-space vectors need more rows than there are cuts.
MANY_ROWS = ("smm2",)
FASTER = 8
SIZES = [(400, 3, 3, 16), (2400, 3, 3, 16), (400, 12, 3, 16), (400, 3, 5, 48), (1500, 8, 4, 32), (2400, 3, 5, 32)]
SIZES += [(400, 12, 3, 256), (1000, 4, 3, 128)]


def run(protocol: str, shape: Shape) -> tuple[float, float]:
    """(seconds of the first tree's extra, seconds per tree)."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(shape.rows, shape.own + shape.others))
    y = (X.sum(axis=1) + rng.normal(size=shape.rows) > 0).astype(float)
    tables = {
        "bank": Table.read(X[:, : shape.own], names=[f"a{i}" for i in range(shape.own)], party="bank"),
        "shop": Table.read(X[:, shape.own :], names=[f"p{i}" for i in range(shape.others)], party="shop"),
    }
    given = {"key_bits": KEY_BITS} if hasattr(protocol_by_name(protocol).params, "key_bits") else {}
    if "insecure" in protocol_by_name(protocol).params.__struct_fields__:
        given["insecure"] = True
    if protocol in ("federboost", "ldp"):
        given = {"epsilon": 1.0}
    measured = []
    for trees in (1, 1 + TREES):
        params = TrainParams(
            objective="binary:logistic", n_estimators=trees, max_depth=shape.depth, max_bin=shape.bins, n_jobs=2
        )
        start = time.process_time()
        plan = plan_for(tables, "bank", params, protocol, given)
        result = fit(SimulatedInput(tables, y, None, shape.rows), plan)
        measured.append((time.process_time() - start) / CORES)
        assert_real_trees(result.active_share, f"{protocol} on {shape}")
    first, whole = measured
    each = (whole - first) / TREES
    return max(first - each, 0), each


def main() -> None:
    """Fit and print."""
    for protocol in sys.argv[1:] or protocol_names():
        scale = FASTER if protocol in FAST + MANY_ROWS else 1
        shapes = [Shape(n * scale, 3, f, bins, depth, 1) for n, f, depth, bins in SIZES]
        try:
            numbers = np.array([run(protocol, shape) for shape in shapes])
        except Exception as error:  # a protocol whose parameters need more than this
            print(f"{protocol}: {error}", file=sys.stderr)
            continue
        matrix = np.array([terms(shape) for shape in shapes])
        rows = []
        for column in range(2):
            weight = 1 / np.maximum(numbers[:, column], numbers[:, column].max() * 0.05 + 1e-9)
            rows.append(nnls(matrix * weight[:, None], numbers[:, column] * weight)[0])
        fitted = np.array([matrix @ row for row in rows]).T
        worst = np.abs(np.log((fitted[:, 1] + 1e-3) / (numbers[:, 1] + 1e-3))).max()
        names = (field.name for field in fields(Costs))
        entry = {name: [float(f"{value:.3g}") for value in row] for name, row in zip(names, rows, strict=True)}
        print(f"{json.dumps(protocol)}: {json.dumps(entry)}", flush=True)
        print(f"{protocol}: worst x{np.exp(worst):.2f}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
