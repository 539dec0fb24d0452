"""What could stand in for opened sums and shown nodes under `sealed`: masked bits, masked choices, own winning splits.

Nothing is found in them. The same attacks find something in runs whose masks are switched off.
"""

from typing import Any

import numpy as np
import pytest

from vfxgb import VFXGBClassifier, _native
from vfxgb.audit import Transcript, audit
from vfxgb.audit.auditor import view_of
from vfxgb.audit.routed_lines import routed_lines
from vfxgb.audit.truth import Truth
from vfxgb.protocols import protocol_by_name
from vfxgb.routing import RoutingSender, receiver

from .conftest import PARTIES, problem

QUICK = dict(protocol_by_name("sealed").quick_params)
SIZES = {"n_estimators": 6, "max_depth": 4, "max_bin": 16}
STAND_INS = ["masked-bits", "masked-choices", "winner-votes"]


def train(**settings: Any) -> Transcript:
    given = {**SIZES, **settings}
    clf = VFXGBClassifier(parties=PARTIES, protocol="sealed", protocol_params=QUICK, record=True, n_jobs=1, **given)
    transcript: Transcript = clf.fit(*problem(400)).transcript_
    return transcript


def test_nothing_is_found_in_what_is_masked() -> None:
    report = audit(train(), STAND_INS)
    assert {finding.attack for finding in report.findings} == set(STAND_INS)
    assert not [finding.detail for finding in report.summary if finding.better]


def test_bits_that_are_sent_as_they_are_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = RoutingSender.answer

    def answer(self: Any, level: Any, rows: int, question: Any, bits: Any) -> bytes:
        real(self, level, rows, question, bits)
        return bytes(bits)

    monkeypatch.setattr(RoutingSender, "answer", answer)
    findings = audit(train(), ["masked-bits"]).findings
    assert findings
    assert all(finding.better and finding.success > 0.2 for finding in findings), findings


def test_choices_that_are_sent_as_they_are_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = _native.routing.choose_bits

    def choose(*given: Any) -> Any:
        _, masks = real(*given)
        corrections, _ = real(*given[:7], np.zeros_like(given[7]), *given[8:])
        return corrections, masks

    patched = type("routing", (), {"choose_bits": staticmethod(choose), "read_bits": _native.routing.read_bits})
    monkeypatch.setattr(receiver, "_native", type("native", (), {"routing": patched}))
    findings = audit(train(), ["masked-choices"]).findings
    assert any(finding.better for finding in findings), findings


def test_lines_are_those_of_all_levels_and_rows() -> None:
    transcript = train(n_estimators=2)
    truth = Truth(transcript)
    won = truth.cuts()["shop"].splits
    for party, peer in (("bank", "shop"), ("shop", "bank")):
        levels = list(routed_lines(view_of(transcript, party, truth), peer))
        assert [(r, d) for r, d, _, _ in levels] == [(r, d) for r, _, d in won]
        for round_index, depth, corrections, bits in levels:
            count = len(won[round_index, 0, depth])
            assert bits.shape == (count, 400)
            assert corrections.shape == (count.bit_length(), 400)
