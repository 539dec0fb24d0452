"""A4: U is orthogonal to the columns of M and so to their differences, the buckets, which LLL finds from U alone."""

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.lattice import orthogonal_sets
from vfxgb.audit.smm import Exchange, exchanges
from vfxgb.audit.view import AttackerView

NEEDS = ("smm2-basis",)
MOST_ROWS = 80
MOST_NODES = 1


def run(view: AttackerView) -> Outcome:
    """Reduce the lattices of the largest nodes that are small enough."""
    claims = []
    left_out = 0
    for peer in view.peers:
        every = exchanges(view, peer, "smm2-basis", "smm2-products")
        fit = [exchange for exchange in every if exchange.n <= MOST_ROWS and len(exchange.basis)]
        fit.sort(key=lambda exchange: -exchange.n)
        left_out += max(0, len(fit) - MOST_NODES)
        claims += [_solve(exchange, peer) for exchange in fit[:MOST_NODES]]
    if not claims:
        return Outcome(why_not=f"no node of at most {MOST_ROWS} rows with vectors; more would take too long")
    return Outcome(claims, f"{left_out} further nodes left out for cost" if left_out else "")


def _solve(exchange: Exchange, peer: str) -> Claim:
    values = [exchange.node.rows[members] for members in orthogonal_sets(exchange.basis)]
    detail = f"n {exchange.n}, r {len(exchange.basis)}"
    return Claim.of_node("buckets", peer, exchange.node, values, detail=detail)


ATTACK = Attack("smm2-lattice", "buckets, by LLL on U alone", "active", NEEDS, run)
