"""Why the active party refuses splits that have won by the rule `centred`, and what would make that rarer.

    python bench/e2e/refused_winners.py [--tables bank,adult] [--seeds 3] [--rows 20000] [--trees 40] [--depth 6]
        [--json docs/results/refused_winners.json]

Each refused winner has shown which rows go left at a split that is not in the model. `plain` trains by XGBoost's gain,
then as the twin of `sealed` (split_rule="centred", nodes hidden, scores of SCORE_BITS bits), then with each of the
VARIANTS, none of which vfxgb has as a parameter:

    light K   nodes whose hessian is below K are left to the active party; below 2 none can be split at all
    rows N    the same for nodes of fewer than N rows
    node      the active party's own best takes part with the weight of its share of the node, not of the whole table
    larger    with the larger of the two weights
    node F    with F times the first of them

Columns go to both parties in turn. Set VFXGB_DATA to the folder of the data sets.
"""

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from split_rules import read

from vfxgb import VFXGBClassifier
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.real_trees import assert_real_trees
from vfxgb.contract import ActiveLevel, Proposals
from vfxgb.metric import make_metric
from vfxgb.protocols.plain.integer_active import IntegerPlainActive
from vfxgb.tree.choice import LEAST_GAIN, worth
from vfxgb.tree.grower import Grower
from vfxgb.tree.growing import GrowingTree, OwnedSplits
from vfxgb.tree.proposal import SumTable

TABLES = ("give_credit", "default_credit", "adult", "bank", "higgs")
SETTINGS = {"learning_rate": 0.1, "max_bin": 32, "n_jobs": 1}
TEST_ROWS = 20_000
SCORE_BITS = 22
VARIANTS: dict[str, dict[str, float]] = {
    "as it is": {},
    "light 4": {"light": 4},
    "light 8": {"light": 8},
    "light 16": {"light": 16},
    "rows 100": {"rows": 100},
    "node": {"node": 1.0},
    "node 1.25": {"node": 1.25},
    "larger": {"larger": 1.0},
    "larger, light 8": {"larger": 1.0, "light": 8},
}
# Bounds of a node's hessian by which refusals are listed.
HESSIANS = (0, 2, 4, 8, 16, 32, 64)


class Winners:
    """What became of the winners of a run: (depth, hessian of the node, gain of the winner, the active party's own)."""

    def __init__(self, variant: dict[str, float]) -> None:
        self.seen: list[tuple[int, float, float, float]] = []
        self.nodes = self.compared = 0
        self._variant = variant
        self._depth = 0
        self._step = 1.0

    def patched(self, stack: ExitStack) -> None:
        """Watch a run, and change what the variant changes."""
        grow, keep = Grower._grow_level, Grower._keep
        propose, scores = IntegerPlainActive.propose, SumTable.propose

        def watched_level(grower: Grower, level: ActiveLevel, trees: list[GrowingTree], passives: Any) -> None:
            self._depth, self._step = level.depth, trees[0]._skeleton._step
            self.nodes += sum(len(tree.level.nodes) for tree in trees)
            grow(grower, level, trees, passives)

        def watched_keep(
            grower: Grower, split: OwnedSplits, tree: GrowingTree, own: Proposals, mine: Any, gain: Any
        ) -> OwnedSplits:
            hessians = tree.level.totals[split.positions, 1] * self._step
            each = zip(hessians.tolist(), split.gain.tolist(), own.gain[split.positions].tolist(), strict=True)
            self.seen += [(self._depth, *numbers) for numbers in each]
            return keep(grower, split, tree, own, mine, gain)

        def fewer_nodes(role: IntegerPlainActive, level: ActiveLevel, own: Any) -> Any:
            proposed = propose(role, level, own)
            for proposals in proposed.values():
                for nodes, theirs in zip(level.trees, proposals, strict=True):
                    rows = nodes.partition.counts(nodes.nodes)[:, 0]
                    hessian = nodes.totals[:, 1] * self._step
                    left_out = (rows < self._variant.get("rows", 0)) | (hessian < self._variant.get("light", 0))
                    self.compared += int(np.count_nonzero(~left_out))
                    theirs.gain[left_out] = 0
            return proposed

        def other_entrant(table: SumTable, level: Any, built: Any, integers: NDArray[np.int64] | None = None) -> Any:
            made = scores(table, level, built, integers)
            return made if integers is None else self._entrant(table, level, integers, made)

        stack.enter_context(patch.object(Grower, "_grow_level", watched_level))
        stack.enter_context(patch.object(Grower, "_keep", watched_keep))
        stack.enter_context(patch.object(IntegerPlainActive, "propose", fewer_nodes))
        if {"node", "larger"} & set(self._variant):
            stack.enter_context(patch.object(SumTable, "propose", other_entrant))

    def _entrant(self, table: SumTable, level: Any, integers: NDArray[np.int64], made: Proposals) -> Proposals:
        """The active party's own best with another score."""
        split = np.flatnonzero(worth(made.gain, table._centred.own_gamma))
        best = made.tokens[made.start[split]]
        left, whole = table._sums[split, best, 1].astype(float), level.totals[split, 1].astype(float)
        weight = 4 * whole / np.sqrt(left * (whole - left))
        if "larger" in self._variant:
            weight = np.maximum(weight, table._centred.weights[best])
        score = np.zeros(len(made.gain))
        score[split] = np.floor(self._variant.get("node", 1.0) * weight * np.abs(integers[split, best]))
        return Proposals(made.gain, made.start, made.tokens, np.minimum(score, 2.0**SCORE_BITS - 1))

    def counts(self, depth: int) -> dict[str, Any]:
        """Nodes, those compared, those won, and refusals by cause and by the hessian of the node."""
        seen = np.array(self.seen).reshape(-1, 4)
        invalid = seen[:, 2] <= LEAST_GAIN
        refused = invalid | (seen[:, 2] <= seen[:, 3])
        place = np.searchsorted(HESSIANS, seen[:, 1], side="right") - 1
        return {
            "nodes": self.nodes,
            "compared": self.compared,
            "won": len(seen),
            "refused": int(refused.sum()),
            "too light": int(invalid.sum()),
            "by depth": [[int((seen[:, 0] == d).sum()), int(refused[seen[:, 0] == d].sum())] for d in range(depth)],
            "by hessian": [[int((place == k).sum()), int(refused[place == k].sum())] for k in range(len(HESSIANS))],
        }


def fit(X: NDArray[Any], y: NDArray[Any], name: str, **settings: Any) -> tuple[VFXGBClassifier, Winners]:
    """A model by the gain, or by a variant of the rule."""
    parties = {"bank": list(range(0, X.shape[1], 2)), "shop": list(range(1, X.shape[1], 2))}
    watched = Winners(VARIANTS.get(name, {}))
    with ExitStack() as stack:
        if name in VARIANTS:
            settings |= {"split_rule": "centred", "score_bits": SCORE_BITS, "protocol_params": {"hide_nodes": True}}
            watched.patched(stack)
        model = VFXGBClassifier(parties=parties, active="bank", protocol="plain", **SETTINGS, **settings)
        model.fit(X, y, verbose=False)
    assert_real_trees(model.model_.active_share, f"{name} on {len(y)} rows")
    return model, watched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--json", type=Path, default=None, help="write the result to this file")
    args = parser.parse_args()
    auc = make_metric("auc")
    settings = {**SETTINGS, **{name: getattr(args, name) for name in ("seeds", "rows", "trees", "depth")}}
    result: dict[str, Any] = {"machine": machine_facts(), "settings": settings, "hessians": HESSIANS, "runs": []}
    for seed in range(args.seeds):
        for table in args.tables.split(","):
            X, y = read(table)
            order = np.random.default_rng(100 + seed).permutation(len(y))
            count = min(args.rows, int(0.7 * len(y)))
            train, test = order[:count], order[count : count + TEST_ROWS]
            for name in ("gain", *VARIANTS):
                grown = {"n_estimators": args.trees, "max_depth": args.depth, "random_state": seed}
                model, watched = fit(X[train], y[train], name, **grown)
                scored = auc(y[test], model.predict_proba(X[test])[:, 1])
                counts = watched.counts(args.depth) if name in VARIANTS else {}
                result["runs"].append({"table": table, "seed": seed, "variant": name, "auc": scored, **counts})
        print(f"seed {seed} done", flush=True)
        if args.json is not None:
            args.json.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
