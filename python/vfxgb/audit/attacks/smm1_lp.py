"""A1: each column of M is the only 0/1 point of an affine space of dimension r', found by a linear program."""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.programs import MOST_COLUMNS, MOST_NODES, MOST_ROWS, by_promise, cube_point
from vfxgb.audit.smm import Exchange, answered
from vfxgb.audit.view import AttackerView

NEEDS = ("smm1-basis", "smm1-products")


def run(view: AttackerView) -> Outcome:
    """Solve for some columns in the nodes with the most masking that are small enough."""
    claims = []
    left_out = 0
    for peer in view.peers:
        fit = answered(view, peer, NEEDS, MOST_ROWS)
        fit.sort(key=lambda exchange: by_promise(exchange.hidden))
        left_out += max(0, len(fit) - MOST_NODES)
        claims += [_solve(exchange, peer) for exchange in fit[:MOST_NODES]]
    if not claims:
        return Outcome(why_not=f"no node of at most {MOST_ROWS} rows; more would take too long")
    remark = f"at most {MOST_COLUMNS} columns a node; {left_out} nodes of at most {MOST_ROWS} rows left out for cost"
    return Outcome(claims, remark)


def _solve(exchange: Exchange, peer: str) -> Claim:
    random = np.random.default_rng(exchange.node.node)
    mask = exchange.mask()
    # Columns that are all zero are withheld or empty.
    tokens = np.flatnonzero(np.abs(exchange.products).max(axis=1) > 1e-9)
    tokens = np.sort(random.permutation(tokens)[:MOST_COLUMNS])
    values = np.zeros((len(tokens), exchange.n), dtype=np.bool_)
    for place, token in enumerate(tokens.tolist()):
        point = cube_point(exchange.products[token], mask, random)
        values[place] = False if point is None else point > 0.5
    detail = f"r'/n {exchange.hidden:.3f}"
    return Claim.of_node("split matrix", peer, exchange.node, values, tokens=tokens, detail=detail)


ATTACK = Attack("smm1-lp", "columns of the split matrix, by linear programs on W", "active", NEEDS, run)
