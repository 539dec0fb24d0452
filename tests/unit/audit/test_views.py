"""An attacker has what it sent, received and owns; what the truth is made of fits what was sent."""

import ast
import gc
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vfxgb.audit
from vfxgb.audit import attack_by_name, attack_names
from vfxgb.audit.auditor import view_of
from vfxgb.audit.truth import Truth
from vfxgb.errors import UnknownNameError
from vfxgb.train.transcript import PartyRecord, Transcript

FOLDER = Path(vfxgb.audit.__file__).parent


def reachable(start: Any) -> list[Any]:
    """All objects that can be reached from `start` without going through code, classes or modules."""
    found: dict[int, Any] = {}
    todo = [start]
    while todo:
        one = todo.pop()
        if id(one) in found or isinstance(
            one, type | types.ModuleType | types.FunctionType | types.BuiltinFunctionType
        ):
            continue
        found[id(one)] = one
        todo += gc.get_referents(one)
    return list(found.values())


@pytest.mark.parametrize("party", ["bank", "shop"])
def test_a_view_reaches_nothing_of_other_parties(recorded: Any, party: str) -> None:
    transcript = recorded().transcript_
    view = view_of(transcript, party, Truth(transcript))
    for peer in view.peers:
        view.nodes(peer)
    inside = reachable(view)
    assert transcript.records[party] in [thing for thing in inside if isinstance(thing, PartyRecord)]
    assert sum(isinstance(thing, PartyRecord) for thing in inside) == 1
    assert not any(isinstance(thing, Transcript | Truth) for thing in inside)
    others = {id(note.array) for name, record in transcript.records.items() if name != party for note in record.notes}
    assert others
    assert not others & {id(thing) for thing in inside}
    assert (view.params is not None) == (party == "bank")
    assert view.note("labels") is None or party == "bank"


def test_attacks_do_not_import_the_truth() -> None:
    forbidden = {"vfxgb.audit.truth", "vfxgb.audit.auditor", "vfxgb.train.transcript"}
    for file in (FOLDER / "attacks").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            assert not forbidden & set(names), file.name


def test_every_attack_says_what_it_is() -> None:
    readme = (FOLDER / "README.md").read_text()
    for name in attack_names():
        attack = attack_by_name(name)
        assert attack.name == name
        assert attack.after
        assert attack.needs
        assert f"`{name}`" in readme
    with pytest.raises(UnknownNameError, match=r"'none-such', wanted one of .*small-buckets"):
        attack_by_name("none-such")


def test_nodes_are_those_of_the_model(recorded: Any) -> None:
    from .conftest import problem

    clf = recorded(missing=0.2, subsample=0.8)
    X, _ = problem(120, 0.2)
    leaves = clf.apply(X)
    transcript = clf.transcript_
    for party, peer in (("bank", "shop"), ("shop", "bank")):
        view = view_of(transcript, party, Truth(transcript))
        nodes = view.nodes(peer)
        assert {(node.round, node.depth) for node in nodes if node.built} == {(r, d) for r in (0, 1) for d in (0, 1, 2)}
        for node in nodes:
            # Above the last level, where splits are known to their owner only.
            if node.leaf and node.node >= 0 and node.depth < 2:
                assert (leaves[node.rows, node.round] == node.node).all()
        # What a party takes for leaves are leaves of the model, or several of them together.
        for round_index in (0, 1):
            known = [node for node in nodes if node.leaf and node.round == round_index]
            inside = [set(leaves[node.rows, round_index].tolist()) for node in known]
            assert len(set().union(*inside)) == sum(map(len, inside))
            assert sorted(np.concatenate([node.rows for node in known])) == sorted(
                next(node.rows for node in nodes if node.node == 0 and node.round == round_index)
            )
        roots = [node.rows for node in nodes if node.node == 0]
        assert all(0.5 * 120 < len(rows) < 120 for rows in roots)
    ours = view_of(transcript, "bank", Truth(transcript)).nodes("shop")
    theirs = view_of(transcript, "shop", Truth(transcript)).nodes("bank")
    assert [(our.round, our.node, our.rows.tolist()) for our in ours] == [
        (their.round, their.node, their.rows.tolist()) for their in theirs
    ]


@pytest.mark.parametrize(
    "params",
    [{}, {"missing": 0.2}, {"min_bucket_rows": 10, "missing": 0.2}, {"colsample_bynode": 0.5, "colsample_bytree": 0.8}],
)
def test_the_split_matrix_gives_the_sums_that_were_sent(recorded: Any, params: dict[str, Any]) -> None:
    """M g of the truth against what the passive party sent: order, missing values and withheld candidates are right."""
    transcript = recorded(**params).transcript_
    truth = Truth(transcript)
    view = view_of(transcript, "bank", truth)
    seen = 0
    for party in ("shop", "club"):
        built = [node for node in view.nodes(party) if node.built]
        for node in built:
            columns = truth.columns(party, node.round, node.tree)
            level = [x for x in built if (x.round, x.tree, x.depth) == (node.round, node.tree, node.depth)]
            sums = truth.note("bank", f"left-sums:{node.depth}:{party}", node.round, node.tree)[level.index(node)]
            pairs = truth.note("bank", "pairs", node.round, node.tree)
            wanted = columns.matrix(node.rows).astype(np.int64) @ pairs[node.rows]
            np.testing.assert_array_equal(np.where(columns.available(node)[:, None], wanted, 0), sums)
            seen += 1
    assert seen > 8
