"""The line as far as it is known: where it is told, how long bytes take on it, and that transfers are made for it."""

from typing import Any

import pytest

from ot_runs import same_model, train
from vfxgb import VFXGBClassifier
from vfxgb.errors import ConfigError, ParameterError
from vfxgb.ot import choose_k
from vfxgb.party.config import section
from vfxgb.protocols.ot_shares import owner
from vfxgb.protocols.ot_shares.messages import OtStart
from vfxgb.train import simulate
from vfxgb.transport.channel import Channel
from vfxgb.transport.line import KnownLine
from vfxgb.transport.network import Limits

WIDE_AES = 1.2e9


def test_seconds_are_bytes_and_round_trips() -> None:
    assert KnownLine(8, 5).seconds(3e6, 10) == pytest.approx(3 + 0.1)
    assert KnownLine(8).seconds(3e6, 10) == pytest.approx(3)
    assert KnownLine().seconds(12.5e6, 0) == pytest.approx(1)
    assert KnownLine(None, 50).seconds(12.5e6, 1) == pytest.approx(1.1)
    assert (KnownLine().words, KnownLine(8).words) == ("a line of 100 Mbit/s and 10 ms", "a line of 8 Mbit/s")


def test_a_configuration_tells_the_line(tmp_path: Any) -> None:
    told = section(Limits, {"mbit": 100, "delay_ms": 10}, "network", tmp_path)
    assert told.line == KnownLine(100, 10)
    assert section(Limits, {}, "network", tmp_path).line == KnownLine()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"mbit": 0}, "mbit is 0"),
        ({"mbit": -1.0}, "mbit is -1.0"),
        ({"mbit": "fast"}, "mbit is 'fast'"),
        ({"mbit": float("nan")}, "mbit is nan"),
        ({"delay_ms": -1}, "delay_ms is -1"),
        ({"mbits": 3}, "did you mean 'mbit'"),
    ],
)
def test_a_line_that_is_none(given: dict[str, Any], match: str, tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match=match):
        section(Limits, given, "network", tmp_path)


@pytest.mark.parametrize("given", [{"network_mbit": 0}, {"network_mbit": "fast"}, {"network_delay_ms": -1}])
def test_the_estimator_refuses_a_line_that_is_none(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(given))):
        VFXGBClassifier(**given).fit([[0.0], [1.0]], [0, 1])


def test_transfers_are_made_for_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The active party proposes the k of its line; parameters that name one come first; the model is the same."""
    proposed: list[int] = []
    send = Channel.send

    def watched(channel: Channel, message: Any) -> None:
        if isinstance(message, OtStart):
            proposed.append(message.transfer_bits)
        send(channel, message)

    monkeypatch.setattr(Channel, "send", watched)
    monkeypatch.setattr(owner, "measured_aes_speed", lambda: WIDE_AES)
    given = simulate.SimulatedInput

    def over(line: KnownLine, **own: Any) -> simulate.FitResult:
        monkeypatch.setattr(simulate, "SimulatedInput", lambda *args, **more: given(*args, **more, line=line))
        return train(own)

    models = [over(KnownLine()), over(KnownLine(50)), over(KnownLine(10_000)), over(KnownLine(50), transfer_bits=2)]
    assert proposed == [6, choose_k(WIDE_AES, 50), choose_k(WIDE_AES, 10_000), 2]
    assert len(set(proposed[:3])) == 3
    assert all(same_model(models[0], model) for model in models[1:])
