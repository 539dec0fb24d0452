"""Numbers that two parties share, and which of them is the largest in absolute value, without opening any.

    plan = plan_argmax(value_bits=22, nodes=8, candidates=155)                   both parties, the same
    mine = Correlations(True, sender, receiver, domain)                          the active party; False: passive
    mine.accept(exchange(mine.request(plan.demand)))                             ahead of time
    run(ActiveArgmax(plan, mine, shares, own), put, get)                         PassiveArgmax(plan, theirs, shares)

README.md has the rule, the argument and the costs.
"""

from vfxgb.two_party.correlations import Correlations, request_sizes
from vfxgb.two_party.plan import ArgmaxPlan, Demand, flight_bytes_of, noise_limit, plan_argmax
from vfxgb.two_party.rule import argmax
from vfxgb.two_party.tournament import NOT_YOURS, ActiveArgmax, Argmax, PassiveArgmax, run, total_demand
from vfxgb.two_party.turns import FlightSize
from vfxgb.two_party.winners import WinnerShares, code_fields

__all__ = [
    "NOT_YOURS",
    "ActiveArgmax",
    "Argmax",
    "ArgmaxPlan",
    "Correlations",
    "Demand",
    "FlightSize",
    "PassiveArgmax",
    "WinnerShares",
    "argmax",
    "code_fields",
    "flight_bytes_of",
    "noise_limit",
    "plan_argmax",
    "request_sizes",
    "run",
    "total_demand",
]
