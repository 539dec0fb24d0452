"""What the active party reaches without the others: the same training on its own columns alone, in this process.

Nothing is sent to anybody: no passive party takes part. It is compared with the joint model, whose rows, labels,
weights, eval sets and parameters it has, so that the difference is what the others' columns are worth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from vfxgb.metric import make_metrics, maximised
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_by_name
from vfxgb.train.simulate import SimulatedInput, fit, plan_for

UNPROTECTED = "plain"


@dataclass(frozen=True)
class Alone:
    """What a model of the active party's own `features` columns reaches.

    `evals`: eval set -> metric -> value per round; `best_iteration`: the round that early stopping chose, if it did;
    `maximised`: the metrics of which more is better.
    """

    features: int
    evals: dict[str, dict[str, list[float | None]]]
    best_iteration: int | None
    maximised: tuple[str, ...]


def train_alone(given: SimulatedInput, active: str, params: TrainParams) -> Alone:
    """Train on the columns of `active` only. `params` are those of the joint training, resolved.

    Parameters that only several parties need are left out. Raises what training raises.
    """
    names = [name for table in given.tables.values() for name in table.names]
    own = given.tables[active]
    signs = dict(zip(names, params.constraints(names), strict=False))
    known = protocol_by_name(UNPROTECTED).split_rules
    params = replace(
        params,
        monotone_constraints={name: sign for name, sign in signs.items() if sign and name in own.names} or None,
        split_rule=params.split_rule if params.split_rule in known else None,
        score_bits=None,
        reduced_leakage=False,
        told_sample=False,
    )
    cuts = None if given.cuts is None else {name: cut for name, cut in given.cuts.items() if name in own.names}
    rows = replace(given, tables={active: own}, cuts=cuts, record=False, privacy_dir=None)
    result = fit(rows, plan_for(rows.tables, active, params, UNPROTECTED))
    objective = make_objective(params)
    metrics = make_metrics(params.eval_metric, objective.default_metric, objective.metric_numbers)
    return Alone(
        len(own.names),
        {
            name: {metric: _defined(values) for metric, values in held.items()}
            for name, held in result.evals_result.items()
        },
        result.best_iteration,
        tuple(sorted(maximised(metrics))),
    )


def _defined(values: Sequence[Any]) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]
