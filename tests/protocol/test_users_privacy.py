"""Noise of users over real links: the model of one process, and runs that a user declines for what they would cost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from user_runs import Crowd, make_consortium, make_job, make_rows, simulated
from vfxgb.errors import ConsentError, MessageError
from vfxgb.horizontal import noise as noise_module
from vfxgb.horizontal import remote
from vfxgb.horizontal.handshake import Invites
from vfxgb.horizontal.job import PrivacyChoice
from vfxgb.horizontal.privacy import PrivacySettings
from vfxgb.horizontal.remote import UserAllows
from vfxgb.model.pooled import PooledModel
from vfxgb.model.xgboost_json import xgboost_json
from vfxgb.train.settings import plain_params

USERS = 5
PRIVACY = PrivacySettings(epsilon=4.0, delta=1e-5, splits="histogram", honest=4, cut_calls=1, start=True)


@pytest.fixture(scope="module")
def consortium(tmp_path_factory) -> Any:
    folder: Path = tmp_path_factory.mktemp("private")
    return folder, make_consortium(folder, USERS)


@pytest.mark.parametrize("splits", ["histogram", "random"])
def test_the_model_of_one_process(consortium, monkeypatch, splits: Any) -> None:
    monkeypatch.setattr(noise_module, "new_seed", lambda: bytes(range(32)))
    folder, directory = consortium
    job = replace(make_job("masks"), privacy=PrivacyChoice(50.0, splits=splits))
    run = Crowd(folder, directory, job, make_rows(USERS))
    run.allows = UserAllows(epsilon=50.0)
    result = run.run()
    expected = simulated(job, run.rows)
    assert xgboost_json(PooledModel(result.share, {})) == xgboost_json(PooledModel(expected.share, {}))
    assert result.ledger.privacy.events == expected.ledger.privacy.events
    total = result.ledger.privacy.total("server", composition="gaussian")
    assert 49.0 < total.epsilon_total <= 50.0
    assert all(outcome.invitation.privacy.splits == splits for outcome in run.outcomes.values())


REFUSED: dict[str, tuple[PrivacySettings | None, UserAllows, type[Exception], str]] = {
    "no noise": (
        None,
        UserAllows(epsilon=1.0),
        ConsentError,
        "its sums have no noise, this user wants at most epsilon 1",
    ),
    "epsilon": (PRIVACY, UserAllows(epsilon=2.0), ConsentError, "epsilon 4 at delta 1e-05, this user wants at most 2"),
    "delta": (PRIVACY, UserAllows(epsilon=4.0, delta=1e-6), ConsentError, "at most 4 at 1e-06"),
    "too few make the noise": (
        PrivacySettings(epsilon=4.0, delta=1e-5, splits="histogram", honest=5, cut_calls=1, start=True),
        UserAllows(),
        ConsentError,
        "planned for 5 users, and sums may be over 4",
    ),
    "sets not compared": (PRIVACY, UserAllows(hide_among=1), ConsentError, "compares no sets of users"),
    "no epsilon": (
        PrivacySettings(epsilon=0.0, delta=1e-5, splits="histogram", honest=4, cut_calls=1, start=True),
        UserAllows(),
        MessageError,
        "found epsilon 0",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_user_declines(consortium, what: str) -> None:
    privacy, allows, kind, says = REFUSED[what]
    folder, directory = consortium
    job = make_job("masks")
    run = Crowd(folder, directory, job, make_rows(USERS))
    side = replace(run.side(4), allows=allows)
    invitation = Invites(
        run=bytes(16),
        number=4,
        purpose="",
        aggregator="masks",
        aggregator_params=dict(job.aggregator_params),
        params=plain_params(job.params),
        columns=list(job.names),
        weighted=False,
        directory=directory.digest(),
        hide_among=1 if what == "sets not compared" else 10,
        least=4,
        quantile_bits=22,
        privacy=privacy,
    )

    class Listens:
        def send(self, message: Any) -> None:
            sent.append(message)

        own = "user-4"

    sent: list[Any] = []
    with pytest.raises(kind, match=says):
        remote._begin(side, Listens(), invitation)
    assert len(sent) == 1


def test_a_sum_needs_all_users_that_noise_is_planned_for(consortium) -> None:
    """Without noise ten users hide each other; with noise fewer than planned would make too little of it."""
    job = replace(make_job("masks"), hide_among=2)
    assert job.guard_rules(USERS, 1).least == 2
    assert replace(job, privacy=PrivacyChoice(1.0)).guard_rules(USERS, 1).least == job.least(USERS) == 4
