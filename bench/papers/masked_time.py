"""Table 3 and appendix F of papers/002 (MaskedXGBoost): time per tree of each method, and bytes.

    vfxgb bench papers masked_time [--quick] [--threads 2] [--out FOLDER]

Seconds per tree with both parties in one process, on all rows of the paper's six tables (its Higgs has 200,000 rows
instead of 57,592, its Nomao 10 columns instead of 118). The paper's machine has 40 cores: what compares is the ratio to
encryption. Appendix F counts messages of one node; the bytes here are those of trees.
"""

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import common
from competitors import METHODS, Settings
from trained import BINS, DEPTH, time_per_tree

from vfxgb.bench.datasets import Loaded
from vfxgb.errors import InsecureProtocolWarning

MINUTES = (0.3, 3.0)
KEY_BITS = 2048
QUICK_ROWS = 2_000
EPSILON = 1.0
HE, BATCHED, MASKED, PLAIN = "HE-XGBoost", "batched HE", "MaskedXGBoost", "XGBoost-NonPrivate"
# Seconds per tree as printed.
PAPER = {
    "give_credit": {
        PLAIN: 0.25,
        MASKED: 3.95,
        HE: 25.22,
        "XGBoost-LDP": 3.47,
        "FedXGBoost-LDP": 3.27,
        "FederBoost": 2.15,
    },
    "adult": {PLAIN: 0.15, MASKED: 1.54, HE: 7.43, "XGBoost-LDP": 1.41, "FedXGBoost-LDP": 1.18, "FederBoost": 1.11},
    "higgs": {PLAIN: 0.58, MASKED: 11.17, HE: 47.70, "XGBoost-LDP": 4.78, "FedXGBoost-LDP": 3.72, "FederBoost": 3.11},
    "default_credit": {
        PLAIN: 0.38,
        MASKED: 5.17,
        HE: 18.41,
        "XGBoost-LDP": 2.85,
        "FedXGBoost-LDP": 2.22,
        "FederBoost": 1.95,
    },
    "bank": {PLAIN: 0.17, MASKED: 2.21, HE: 11.71, "XGBoost-LDP": 1.29, "FedXGBoost-LDP": 1.23, "FederBoost": 1.05},
    "nomao": {PLAIN: 0.15, MASKED: 1.77, HE: 11.91, "XGBoost-LDP": 1.45, "FedXGBoost-LDP": 1.03, "FederBoost": 0.95},
}
# Appendix F's example, n rows, l candidates, W vectors, bits of the key, and the bytes it prints for one node.
EXAMPLE = {"n": 1000, "l": 32, "W": 3, "key bits": 4096}
EXAMPLE_PRINTED = {"other DP methods": "16 KB", MASKED: "1.2 MB", "HE": "2.1 MB"}


def lines(rows: int, trees: int, key_bits: int) -> dict[str, tuple[str, dict[str, Any], int, float]]:
    """Method -> protocol, parameters, trees to time, and roughly the seconds of one per 30,000 rows."""
    settings = Settings(rows, trees)
    key = {"scheme": "paillier", "key_bits": key_bits, "insecure": key_bits < 2048}
    methods: dict[str, tuple[str, dict[str, Any], int, float]] = {
        PLAIN: ("plain", {}, trees, 0.02),
        MASKED: ("masked", METHODS["masked"].params(EPSILON, settings), 2, 0.5),
        HE: ("secureboost", key, 2, 5.0),
        BATCHED: ("batch_he", key, 2, 3.0),
    }
    for name in ("XGBoost-LDP", "FedXGBoost-LDP", "FederBoost"):
        method = METHODS[name]
        methods[name] = (method.protocol, method.params(EPSILON, settings), trees, 0.03)
    return methods


def measure(data: dict[str, Loaded], key_bits: int, threads: int) -> dict[str, dict[str, Any]]:
    """Table -> method -> seconds and megabytes per tree."""
    asked = {name: lines(len(table.y), 10, key_bits) for name, table in data.items()}
    every = [(len(data[name].y) * cost * trees) for name, by in asked.items() for _, _, trees, cost in by.values()]
    steps = common.Steps(sum(every))
    results: dict[str, dict[str, Any]] = {}
    for name, table in data.items():
        time_per_tree(table, "plain", {}, 2, threads)  # libraries loaded, threads started
        for line, (protocol, params, trees, cost) in asked[name].items():
            steps.begin(f"{name}: {line}", len(table.y) * cost * trees)
            results.setdefault(name, {})[line] = time_per_tree(table, protocol, params, trees, threads)
    return results


def time_rows(results: dict[str, dict[str, Any]]) -> list[list[str]]:
    """A line for each table and method: ours, the paper's, and both against encryption."""
    rows = []
    for name, by in results.items():
        for line, times in by.items():
            printed = PAPER[name].get(line)
            theirs = [f"{printed:.2f}", f"{printed / PAPER[name][HE]:.3f}"] if printed else ["", ""]
            ours = [f"{times['seconds']:.3f}", f"{times['cpu']:.3f}", f"{times['cpu'] / by[HE]['cpu']:.3f}"]
            rows.append([name, line, *ours, *theirs, f"{times['megabytes']:.1f}"])
    return rows


def example_rows() -> list[list[str]]:
    """Appendix F: messages of one node by its formulas, in bytes, next to what it prints."""
    n, candidates, vectors, bits = EXAMPLE.values()
    by_formula = {
        "other DP methods": 8 * (2 * n + candidates),
        MASKED: 8 * ((candidates * vectors + 2 * candidates) * n + candidates),
        "HE": (2 * n + 2 * candidates) * 2 * bits // 8,  # a ciphertext is modulo the key's square
    }
    return [[name, f"{size / 1e6:.3f} MB", EXAMPLE_PRINTED[name]] for name, size in by_formula.items()]


def conclude(run: common.Run, results: dict[str, dict[str, Any]]) -> None:
    """What the times say about the paper's sentences."""
    faster = {name: by[HE]["cpu"] / by[MASKED]["cpu"] for name, by in results.items()}
    theirs = {name: PAPER[name][HE] / PAPER[name][MASKED] for name in results}
    run.found(
        "MaskedXGBoost is 4.82 to 6.72 times as fast as encryption (text; its table has 3.56 to 6.73).",
        min(faster.values()) > 1,
        "; ".join(f"{name}: {value:.1f} times here, {theirs[name]:.1f} there" for name, value in faster.items())
        + ". Against batched encryption: "
        + ", ".join(f"{by[BATCHED]['cpu'] / by[MASKED]['cpu']:.1f} on {name}" for name, by in results.items())
        + ".",
    )
    slower = [by[MASKED]["cpu"] / by[PLAIN]["cpu"] for by in results.values()]
    run.found(
        "It is slower than the other noisy methods and than no protection.",
        all(by[MASKED]["cpu"] > by["XGBoost-LDP"]["cpu"] for by in results.values()),
        f"{min(slower):.0f} to {max(slower):.0f} times plain here, 10 to 19 in the paper's table, whose noisy methods "
        "are slow too.",
    )
    more = [by[MASKED]["megabytes"] / by[HE]["megabytes"] for by in results.values()]
    packed = [by[MASKED]["megabytes"] / by[BATCHED]["megabytes"] for by in results.values()]
    run.found(
        "It sends less than encryption (appendix F).",
        max(more) < 1,
        f"Per tree it sends {min(more):.0f} to {max(more):.0f} times as much as encryption of single gradients and "
        f"{min(packed):.0f} to {max(packed):.0f} times as much as batched encryption: gradients are encrypted once per "
        "tree, and masked anew for every candidate and level; the appendix compares one node with one node (E47).",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Time, compare."""
    args = common.parse(common.parser(__doc__), argv)
    warnings.simplefilter("ignore", InsecureProtocolWarning)
    run = common.Run(
        "masked_time",
        "MaskedXGBoost: time and bytes per tree",
        "table 3 and appendix F of papers/002",
        args,
        "Seconds per tree are means over trees, without making keys; CPU seconds are those of all threads of both "
        "parties, and ratios are of them; megabytes count both directions. HE-XGBoost is `secureboost`, a "
        "ciphertext for each gradient and hessian; batched HE is `batch_he`.",
    )
    key_bits = 512 if args.quick else KEY_BITS
    run.set(depth=DEPTH, bins=BINS, key_bits=key_bits, epsilon=EPSILON)
    names = list(PAPER)[:2] if args.quick else list(PAPER)
    data = {name: common.rows_of(name, QUICK_ROWS if args.quick else None) for name in names}
    for loaded in data.values():
        run.use(loaded)
    results = measure(data, key_bits, args.threads)
    head = ["table", "method", "s per tree", "CPU s", "x HE", "paper: s per tree", "x HE", "MB per tree"]
    run.table("Table 3", head, time_rows(results), left=2)
    example = ", ".join(f"{name} = {value:,}" for name, value in EXAMPLE.items())
    run.table(f"Appendix F: one node, {example}", ["", "its formula, 8 bytes a number", "printed"], example_rows())
    conclude(run, results)
    run.write({"tables": results, "paper": PAPER})
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
