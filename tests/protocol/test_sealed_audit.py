"""An audit of a recorded run of `sealed`: attacks on opened sums and on node sets have nothing to begin with.

They are not run, which is not the same as having failed. tests/unit/audit/test_row_bits.py has what bits of rows tell.
"""

from vfxgb.audit import audit

ON_SUMS_AND_NODES = {"leaf-purity", "node-votes", "small-buckets", "solve"}


def test_attacks_on_sums_and_nodes_lack_what_they_need(make_problem, train) -> None:
    problem = make_problem("binary", n_estimators=6)
    shown, sealed = (audit(train(problem, name, record=True).transcript) for name in ("ot_shares", "sealed"))
    # The same training, where sums are opened and nodes are shown, gives them something.
    assert {finding.attack for finding in shown.findings} >= ON_SUMS_AND_NODES - {"leaf-purity"}
    assert {finding.attack for finding in sealed.findings if finding.better} <= {"row-bits", "row-bits-cuts"}
    assert not {finding.attack for finding in sealed.findings} & ON_SUMS_AND_NODES
    why = {left.attack: left.why for left in sealed.not_run}
    assert {why[name] for name in ON_SUMS_AND_NODES} == {"no message 'level' in this run"}
