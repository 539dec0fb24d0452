"""The document of a run whose parties were all simulated in one process: what an estimator knows after fit.

All shares are at hand, so no split is masked. What only real parties have (times of the run, pace, rows on the wire) is
left out.
"""

from collections.abc import Mapping
from typing import Any

from vfxgb.model.fitted import FittedModel
from vfxgb.party.folder import ledger_document
from vfxgb.party.record import RunRecord, TrafficRecord
from vfxgb.protocols import protocol_by_name
from vfxgb.report.document import make_document
from vfxgb.report.guarantees import USER_ROLES
from vfxgb.report.trees import describe_model
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.timings import Timings
from vfxgb.secagg import aggregator_by_name
from vfxgb.transport.traffic import Traffic


def simulated_document(
    role: str,
    protocol: str,
    protocol_params: Mapping[str, Any],
    model: FittedModel,
    ledger: Ledger,
    traffic: Mapping[str, Traffic],
    timings: Timings,
    evals: Mapping[str, Any],
    best: tuple[int | None, float | None],
    audit: dict[str, Any] | None = None,
    alone: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The document (document.py). `role`: "active" or "server", of the party that holds the trees; `best`: the best
    round and its score; `audit`: AuditReport.to_dict(); `alone`: what the active party's own columns reach alone.
    """
    share = model.active_share
    spec = aggregator_by_name(protocol) if role in USER_ROLES else protocol_by_name(protocol)
    record = RunRecord.begun(
        share.run,
        share.party,
        role,
        spec,
        protocol_params,
        state="finished",
        started=0.0,
        parties=(share.party, *(party for party in share.parties if party != share.party)),
        train=dict(share.params),
        rounds=share.n_rounds,
        planned_rounds=int(share.params["n_estimators"]),
        evals={name: {metric: list(values) for metric, values in metrics.items()} for name, metrics in evals.items()},
        best_iteration=best[0],
        best_score=best[1],
        timings={share.party: timings.seconds, **{name: spent.seconds for name, spent in timings.parties.items()}},
        operations=dict(timings.operations),
        traffic={name: TrafficRecord.of(counted) for name, counted in traffic.items()},
        facts={"simulated": "all parties in one process"},
    )
    return make_document(
        record, ledger_document(ledger), describe_model(share, model.passive_shares), audit, alone=alone
    )
