"""E58, E64: a passive party knows which rows share a leaf of the first tree, and these mostly share a label."""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.view import AttackerView


def run(view: AttackerView) -> Outcome:
    """Say of every leaf of the first round that its rows have one label."""
    (active,) = view.peers
    leaves = [node for node in view.nodes(active) if node.leaf and node.round == 0]
    if not leaves:
        return Outcome(why_not="the first round took place without passive parties (reduced_leakage)")
    claims = []
    for tree in sorted({node.tree for node in leaves}):
        own = [node for node in leaves if node.tree == tree]
        rows = np.concatenate([node.rows for node in own])
        leaf = np.repeat(np.arange(len(own)), [len(node.rows) for node in own])
        detail = f"{len(own)} leaves known; guess: leaves of the same sizes filled at random"
        claims.append(Claim("leaf labels", active, 0, tree, -1, rows, leaf, detail=detail))
    return Outcome(claims)


ATTACK = Attack("leaf-purity", "which rows share a label, by the leaves of the first tree", "passive", ("level",), run)
