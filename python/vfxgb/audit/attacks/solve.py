"""The passive party's binned table by linear algebra over opened sums (E62): every protocol that opens them.

The active party follows the protocol. Every node whose sums it opened gives two equations about every cut
(opened_sums.py). A secret order of candidates is undone first (chains.py, chain_links.py); then the rows left of each
cut are solved for (cut_solver.py), and a row's bin is the step where it begins to go left. From about as many equations
as rows on, nearly all bins are right.
"""

import numpy as np

from vfxgb.audit.attack import Attack
from vfxgb.audit.chain_links import equations, join
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.cut_solver import left_shares, nearest_bins
from vfxgb.audit.opened_sums import OpenedTree, opened_trees
from vfxgb.audit.view import AttackerView
from vfxgb.contract.messages import BeginRound, Ready
from vfxgb.errors import MissingPackageError
from vfxgb.train.arrays import unpack_bits

# Tens of seconds: equations times rows, equations in all, candidates of a tree.
MOST_NUMBERS = 36_000_000
MOST_EQUATIONS = 6_000
MOST_CANDIDATES = 2_000


def run(view: AttackerView) -> Outcome:
    """Solve for the table of every passive party that opened sums."""
    claims = []
    reasons: dict[str, None] = {}
    remarks: dict[str, None] = {}
    for peer in view.peers:
        trees = opened_trees(view, peer)
        used, why_not = _affordable(trees, view.setup.n_train)
        if why_not:
            reasons[why_not] = None
            continue
        if len(used) < len(trees):
            remarks[f"only the last {len(used)} of {len(trees)} trees of {peer} were used"] = None
        try:
            claim = _solve(view, peer, used)
        except MissingPackageError as error:
            return Outcome(why_not=str(error))
        if claim is None:
            reasons["the candidates of no tree could be put in order"] = None
        else:
            claims.append(claim)
    return Outcome(claims, "; ".join(remarks), "" if claims else "; ".join(reasons))


def _affordable(trees: list[OpenedTree], n_rows: int) -> tuple[list[OpenedTree], str]:
    """The newest trees that can be paid for, or why none can."""
    if not trees:
        return [], "no sums were opened"
    widest = max(tree.n_candidates for tree in trees)
    total = sum(tree.n_equations for tree in trees)
    most = min(MOST_EQUATIONS, MOST_NUMBERS // n_rows)
    if widest > MOST_CANDIDATES or 10 * most < n_rows:
        return [], (
            f"too large for this attack: {n_rows:,} rows, {total:,} equations, {widest:,} candidates a tree; it takes "
            f"up to {int((10 * MOST_NUMBERS) ** 0.5):,} rows and {MOST_CANDIDATES:,} candidates"
        )
    reached = np.cumsum([tree.n_equations for tree in reversed(trees)])
    count = max(1, int((reached <= most).sum()))
    return trees[-count:], ""


def _solve(view: AttackerView, peer: str, trees: list[OpenedTree]) -> Claim | None:
    joined = join(trees, _features(view, peer, trees))
    if not joined.members:
        return None
    rows, sums, known, start = equations(trees, joined)
    shares = left_shares(rows, sums, known, start, [np.array(chain.cuts) for chain in joined.chains])
    columns = []
    for chain in joined.chains:
        left = shares[:, list(chain.cuts)]
        missing = (shares[:, list(chain.twin)] - left).mean(axis=1) if chain.twin else None
        columns.append(nearest_bins(left, missing))
    n = view.setup.n_train
    detail = f"{len(rows):,} equations for {n:,} rows, {len(joined.members)} of {len(trees)} trees joined"
    return Claim("binned table", peer, -1, -1, -1, np.arange(n), np.stack(columns, axis=1), detail=detail)


def _features(view: AttackerView, peer: str, trees: list[OpenedTree]) -> list[frozenset[int]]:
    """The features of `peer` that each tree may use: the active party draws them."""
    (ready,) = view.messages(peer, Ready.TAG, Ready)
    drawn = {}
    for message in view.messages(peer, BeginRound.TAG, BeginRound):
        for tree, bits in enumerate(message.features):
            chosen = unpack_bits(bits, ready.n_features, "reading a transcript")
            every = range(ready.n_features) if chosen is None else np.flatnonzero(chosen).tolist()
            drawn[message.round, tree] = frozenset(every)
    return [drawn[tree.round, tree.tree] for tree in trees]


ATTACK = Attack("solve", "the binned table, by linear algebra over opened sums", "active", ("level",), run)
