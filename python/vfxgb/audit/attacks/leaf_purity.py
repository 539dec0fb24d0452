"""E58, E64: a passive party knows which rows share a leaf of the first tree, and these mostly share a label."""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.view import AttackerView


def run(view: AttackerView) -> Outcome:
    """Say of every leaf of the first round that its rows have one label."""
    (active,) = view.peers
    leaves = [one for one in view.nodes(active) if one.leaf and one.round == 0]
    if not leaves:
        return Outcome(why_not="the first round took place without passive parties (reduced_leakage)")
    claims = []
    for tree in sorted({one.tree for one in leaves}):
        own = [one for one in leaves if one.tree == tree]
        rows = np.concatenate([one.rows for one in own])
        leaf = np.repeat(np.arange(len(own)), [len(one.rows) for one in own])
        detail = f"{len(own)} leaves known; guess: leaves of the same sizes filled at random"
        claims.append(Claim("leaf labels", active, 0, tree, -1, rows, leaf, detail=detail))
    return Outcome(claims)


ATTACK = Attack("leaf-purity", "which rows share a label, by the leaves of the first tree", "passive", ("level",), run)
