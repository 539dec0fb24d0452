"""What a run's protocol promises: from its spec, for every one there is."""

import pytest

from report_runs import record
from vfxgb.protocols import protocol_by_name, protocol_names
from vfxgb.report.guarantees import guarantees
from vfxgb.secagg import aggregator_by_name, aggregator_names


@pytest.mark.parametrize("name", protocol_names())
def test_every_protocol(name: str) -> None:
    spec = protocol_by_name(name)
    said = guarantees(record(protocol=name, security=spec.security, attacks=spec.attacks))
    assert said["kind"] == "protocol"
    assert said["summary"] == spec.summary
    assert said["attacks"] == list(spec.attacks)
    text = " ".join(said["points"])
    assert ("Exact:" in text) == spec.exact
    assert ("For research only" in text) == (spec.security == "broken")
    assert all(event in text for event in spec.dp_events)
    assert said["reveals"]


@pytest.mark.parametrize("role", ["server", "user"])
@pytest.mark.parametrize("name", aggregator_names())
def test_every_aggregator(name: str, role: str) -> None:
    spec = aggregator_by_name(name)
    said = guarantees(record(role=role, protocol=name, security=spec.security, attacks=spec.attacks))
    assert said["kind"] == "aggregator"
    assert said["summary"] == spec.summary
    text = " ".join(said["points"])
    assert ("may leave at any stage" in text) == spec.survives_drops
    assert ("key centre" in text) == (spec.deal is not None)
    assert ("There is no protection" in text) == (spec.security == "none")


def test_what_the_record_says_stands_for_a_protocol_that_is_not_known_here() -> None:
    said = guarantees(record(protocol="of tomorrow", security="semi-honest"))
    assert said["summary"] == ""
    assert said["attacks"] == ["an attack: that is known (E62)"]
    assert len(said["points"]) == 1


def test_no_protocol_yet() -> None:
    assert guarantees(record(protocol="", security="", attacks=()))["points"] == []


def test_a_protocol_is_described_as_it_was_under_the_parameters_of_the_run() -> None:
    hidden = "Passive parties are not told which rows are in a node of a tree, nor the splits of others."
    shown, other, unknown = (
        guarantees(record(protocol="plain", security="none", attacks=(), protocol_params=params))
        for params in ({}, {"hide_nodes": True}, {"of tomorrow": 1})
    )
    assert hidden not in shown["points"]
    assert hidden in other["points"]
    assert any("every row" in text for text in other["reveals"])
    assert not any("every row" in text for text in shown["reveals"])
    assert hidden not in unknown["points"]
