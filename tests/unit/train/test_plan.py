"""A plan is resolved once and never changes; hooks of one run are not those of another; few layers lie in between."""

import traceback
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vfxgb
from vfxgb import VFXGBClassifier
from vfxgb.errors import ProtocolParameterError, UnknownNameError
from vfxgb.params import TrainParams
from vfxgb.protocols import protocol_by_name
from vfxgb.train.plan import ActiveHooks, RunPlan
from vfxgb.tree.grower import Grower

PARAMS = TrainParams(n_estimators=2)


def test_a_plan_has_every_default_of_its_protocol() -> None:
    plan = RunPlan.resolve("bank", ["bank", "shop"], "ab", PARAMS, "batch_he", {"key_bits": 3072})
    assert plan.spec is protocol_by_name("batch_he")
    assert plan.parties == ("bank", "shop")
    assert plan.protocol_params == plan.spec.params(key_bits=3072)
    assert plan.options == plan.spec.options(plan.protocol_params)
    with pytest.raises(FrozenInstanceError):
        plan.run_id = "cd"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("protocol", "given", "error", "words"),
    [
        ("secret-sauce", None, UnknownNameError, "secret-sauce"),
        ("plain", {"key_bits": 2048}, ProtocolParameterError, "key_bits"),
        ("masked", None, ProtocolParameterError, "insecure"),
    ],
)
def test_there_is_no_plan_that_cannot_be_run(protocol: str, given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        RunPlan.resolve("bank", ["bank", "shop"], "ab", PARAMS, protocol, given)


def test_runs_share_no_ledger_and_no_timings() -> None:
    here, there = ActiveHooks(), ActiveHooks()
    assert here.ledger is not there.ledger
    assert here.timings is not there.timings


def test_few_calls_lie_between_fit_and_the_growth_of_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    grow = Grower.grow

    def watched(self: Grower, *arguments: Any) -> Any:
        folder = str(Path(vfxgb.__file__).parent)
        calls[:] = [frame.name for frame in traceback.extract_stack() if frame.filename.startswith(folder)]
        return grow(self, *arguments)

    monkeypatch.setattr(Grower, "grow", watched)
    X = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    parties = {"bank": [0, 1], "shop": [2, 3]}
    VFXGBClassifier(parties=parties, protocol="plain", n_estimators=1, n_jobs=1).fit(X, (X[:, 0] > 0).astype(int))
    assert calls == ["fit", "fit", "run_active", "run", "run_rounds", "_boost"]
