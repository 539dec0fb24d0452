"""A model as one party, or several together, may see it: trees drawn with the owners of splits, and importance.

A split of a party whose share is not there is *masked*: the tree says whose it is and under which number that party
filed it, and nothing else (model/shares.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vfxgb.errors import ShareMismatchError
from vfxgb.model.shares import LEAF, ActiveShare, PassiveShare, SplitRecords, TreeShape

NOT_SHARED = "not shared"
# Drawn before the children of a node: of one with a sibling below it, and of the last.
_BRANCH, _LAST = ("├─ ", "│  "), ("└─ ", "   ")


def describe(active: ActiveShare | None, passive: Mapping[str, PassiveShare]) -> dict[str, Any]:
    """All that the given shares say, as JSON can hold it. `active` None: a passive party's view, records only."""
    known = known_records(active, passive)
    first = active if active is not None else next(iter(passive.values()))
    document: dict[str, Any] = {
        "run": first.run,
        "model": first.seal.model,
        "parties": [party for party, _ in first.seal.parties],
        "records": {party: _records(records) for party, records in known.items()},
    }
    if active is None:
        return document
    return document | {
        "active": active.party,
        "objective": active.objective,
        "outputs": active.n_outputs,
        "rounds": active.n_rounds,
        "best_iteration": active.best_iteration,
        "base_score": active.base_score.tolist(),
        "missing_strategy": active.missing_strategy,
        "params": dict(active.params),
        "importance": {"parties": party_importance(active), "features": feature_importance(active, known)},
        "trees": [_tree(active, tree, known) for tree in active.trees],
    }


def known_records(active: ActiveShare | None, passive: Mapping[str, PassiveShare]) -> dict[str, SplitRecords]:
    """The records of the given shares, by party. Raises ShareMismatchError where a tree names one that is not there."""
    known = {party: share.records for party, share in passive.items()}
    if active is None:
        return known
    known = {active.party: active.records} | known
    for tree in active.trees:
        for place, party in enumerate(active.parties):
            numbers = tree.record[tree.party == place]
            if party in known and len(numbers) and int(numbers.max()) >= len(known[party]):
                raise ShareMismatchError(
                    f"joining shares: a tree names record {int(numbers.max())} of party {party!r}, which has "
                    f"{len(known[party])}"
                )
    return known


def party_importance(active: ActiveShare) -> dict[str, dict[str, Any]]:
    """Per party: splits, total gain and total cover of its splits, and its share of all gain. Needs no other share.

    Gains and covers are None in a share that does not have them.
    """
    owner, gain, cover = (
        np.concatenate([np.zeros(0), *(getattr(tree, name)[tree.party != LEAF] for tree in active.trees)])
        for name in ("party", "gain", "cover")
    )
    everything = float(gain.sum())
    importance: dict[str, dict[str, Any]] = {}
    for place, party in enumerate(active.parties):
        own = owner == place
        total = float(gain[own].sum())
        amounts = (total, float(cover[own].sum()), total / everything if everything > 0 else 0.0)
        shared = amounts if active.gains_shared else (None, None, None)
        names = ("total_gain", "total_cover", "share_of_gain")
        importance[party] = {"splits": int(own.sum()), **dict(zip(names, shared, strict=True))}
    return importance


def feature_importance(active: ActiveShare, known: Mapping[str, SplitRecords]) -> dict[str, dict[str, dict[str, Any]]]:
    """Per party whose records are known and feature that a split uses: splits, total gain and total cover.

    By gain, the largest first; by splits, and None for gains and covers, in a share that does not have them.
    """
    importance: dict[str, dict[str, dict[str, Any]]] = {party: {} for party in known}
    shared = active.gains_shared
    for tree in active.trees:
        for node in np.flatnonzero(tree.party != LEAF):
            party = active.parties[tree.party[node]]
            if party not in known:
                continue
            records = known[party]
            name = records.features[records.feature[tree.record[node]]]
            nothing = 0.0 if shared else None
            entry = importance[party].setdefault(name, {"splits": 0, "total_gain": nothing, "total_cover": nothing})
            entry["splits"] += 1
            if shared:
                entry["total_gain"] += float(tree.gain[node])
                entry["total_cover"] += float(tree.cover[node])
    by = "total_gain" if shared else "splits"
    return {
        party: dict(sorted(entries.items(), key=lambda item: -item[1][by])) for party, entries in importance.items()
    }


def draw_text(active: ActiveShare | None, passive: Mapping[str, PassiveShare], trees: Sequence[int]) -> str:
    """The description in plain words and lines, with the trees of the given numbers drawn."""
    known = known_records(active, passive)
    if active is None:
        return "\n".join(_passive_lines(passive))
    lines = _head(active)
    for party, entry in party_importance(active).items():
        of_all = f"{entry['share_of_gain']:>6.1%} of the gain" if active.gains_shared else f"gain {NOT_SHARED}"
        lines.append(f"  {party:<16} {entry['splits']:>6} splits  {of_all}" + ("" if party in known else "  (masked)"))
    for party, entries in feature_importance(active, known).items():
        if entries:
            lines += ["", f"features of {party}, by {'gain' if active.gains_shared else 'splits'}:"]
            lines += [
                f"  {name:<24} {int(entry['splits']):>6} splits  gain {_amount(active, entry['total_gain'])}"
                for name, entry in entries.items()
            ]
    for number in trees:
        lines += ["", *draw_tree(active, number, known)]
    left = len(active.trees) - len(trees)
    if left > 0:
        lines += ["", f"{left} more trees: --tree N draws one of them, --all every one"]
    return "\n".join(lines)


def draw_tree(active: ActiveShare, number: int, known: Mapping[str, SplitRecords]) -> list[str]:
    """One tree, a line per node."""
    tree = active.trees[number]
    output = f", output {number % active.n_outputs}" if active.n_outputs > 1 else ""
    lines = [f"tree {number} (round {number // active.n_outputs}{output})"]
    # Nodes still to draw, the next one last: number, what its own line and those below it begin with, the answer.
    waiting = [(0, "", "", "")]
    while waiting:
        node, lead, below, answer = waiting.pop()
        lines.append(f"{lead}{answer}{_node_text(active, tree, node, known)}")
        if tree.party[node] == LEAF:
            continue
        for child, (own, under), word in (
            (int(tree.right[node]), _LAST, "no:  "),
            (int(tree.left[node]), _BRANCH, "yes: "),
        ):
            waiting.append((child, below + own, below + under, word))
    return lines


def _head(active: ActiveShare) -> list[str]:
    best = "" if active.best_iteration is None else f", the best is number {active.best_iteration}"
    outputs = f", {active.n_outputs} outputs" if active.n_outputs > 1 else ""
    return [
        f"run {active.run}, share of {active.party}, which holds the trees",
        f"{active.n_rounds} rounds{best}{outputs}; objective {active.objective}; start "
        + ", ".join(f"{value:.6g}" for value in active.base_score),
        f"missing values: {active.missing_strategy}",
        f"model {active.seal.model}",
        "",
        "who contributes:",
    ]


def _passive_lines(passive: Mapping[str, PassiveShare]) -> list[str]:
    lines: list[str] = []
    for party, share in passive.items():
        lines += [
            f"run {share.run}, share of {party}: {len(share.records)} splits; their trees are at the active party",
            f"model {share.seal.model}",
        ]
        lines += [f"  {number:>6}  {_record_text(share.records, number)}" for number in range(len(share.records))]
    return lines


def _record_text(records: SplitRecords, number: int) -> str:
    name = records.features[records.feature[number]]
    if records.fill is not None:
        missing = f"missing is taken for {records.fill[records.feature[number]]:.6g}"
    elif records.regressions is not None:
        missing = "missing is guessed from other columns"
    else:
        missing = "missing: yes" if records.default_left[number] else "missing: no"
    return f"{name} {records.condition(number)}  ({missing})"


def _node_text(active: ActiveShare, tree: TreeShape, node: int, known: Mapping[str, SplitRecords]) -> str:
    cover = f"cover {_amount(active, tree.cover[node])}"
    if tree.party[node] == LEAF:
        return f"leaf {tree.value[node]:+.6g}  [{cover}]"
    party, number = active.parties[tree.party[node]], int(tree.record[node])
    records = known.get(party)
    split = f"record {number}, masked" if records is None else _record_text(records, number)
    return f"{party}: {split}  [gain {_amount(active, tree.gain[node])}, {cover}]"


def _amount(active: ActiveShare, value: Any) -> str:
    """A gain or cover in a drawing."""
    return f"{value:.6g}" if active.gains_shared else NOT_SHARED


def _split(records: SplitRecords, number: int) -> dict[str, Any]:
    right = records.right(number)
    way: dict[str, Any] = {"cut": float(records.cut[number])}
    if right is not None and records.categories is not None:
        known = records.categories.encodings[records.feature[number]] or ()
        way = {"cut": None, "right": [known[code] for code in right.tolist()]}
    return {
        "feature": records.features[records.feature[number]],
        **way,
        "missing_left": bool(records.default_left[number]),
    }


def _records(records: SplitRecords) -> list[dict[str, Any]]:
    fills = records.fill or (None,) * len(records.features)
    return [_split(records, number) | {"fill": fills[feature]} for number, feature in enumerate(records.feature)]


def _tree(active: ActiveShare, tree: TreeShape, known: Mapping[str, SplitRecords]) -> list[dict[str, Any]]:
    """Nodes in their order; a masked split has no feature and no cut."""
    nodes: list[dict[str, Any]] = []
    for node in range(tree.n_nodes):
        entry: dict[str, Any] = {"node": node, "cover": float(tree.cover[node]) if active.gains_shared else None}
        if tree.party[node] == LEAF:
            nodes.append(entry | {"leaf": float(tree.value[node])})
            continue
        party, number = active.parties[tree.party[node]], int(tree.record[node])
        entry |= {
            "party": party,
            "record": number,
            "yes": int(tree.left[node]),
            "no": int(tree.right[node]),
            "gain": float(tree.gain[node]) if active.gains_shared else None,
        }
        nodes.append(entry | (_split(known[party], number) if party in known else {}))
    return nodes
