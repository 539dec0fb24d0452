"""The conformance suite over real links: TLS on loopback instead of queues, and the same models."""

from collections.abc import Iterator

import numpy as np
import pytest

from network_runs import NetworkChannels, Town
from protocol_variants import spec_of
from vfxgb.predict import joint
from vfxgb.predict.joint import predict_margin
from vfxgb.train import simulate


@pytest.fixture(scope="module")
def town(tmp_path_factory) -> Town:
    return Town(tmp_path_factory.mktemp("town"))


@pytest.fixture
def network(town, monkeypatch) -> Iterator[NetworkChannels]:
    """From here on parties meet over the network."""
    channels = NetworkChannels(town)
    monkeypatch.setattr(simulate, "memory_channels", channels)
    monkeypatch.setattr(joint, "memory_channels", channels)
    yield channels
    channels.close()


@pytest.mark.parametrize(("name", "n_parties"), [("binary", 2), ("missing multiclass", 3)])
def test_the_same_model_as_in_memory(protocol, name, n_parties, make_problem, train, model_of, request) -> None:
    problem = make_problem(name, n_estimators=1 if n_parties > 2 else 2)
    here = train(problem, protocol, n_parties)
    in_memory = predict_margin(here.active_share, here.passive_shares, problem.tables(n_parties))
    network = request.getfixturevalue("network")
    there = train(problem, protocol, n_parties)
    assert len(network.links) == n_parties - 1
    if spec_of(protocol).repeatable:
        assert model_of(there) == model_of(here)
    margins = predict_margin(here.active_share, here.passive_shares, problem.tables(n_parties))
    assert np.array_equal(margins, in_memory)
    for link, traffic in zip(network.links, there.traffic.values(), strict=False):
        # What a link adds to its frames is small.
        assert link.wire_sent < 1.05 * traffic.sent_bytes + 1000 + 100 * traffic.sent_messages
