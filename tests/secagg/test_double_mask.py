"""What holds of a call of `masks` and `bcp`: what is revealed, spares, set-up (known answer 9)."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from secagg_runs import Run
from vfxgb.errors import AggregationError, ParameterError
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import JOIN, MASK, RECOVER, SETUP, SHARE, SIGN, UNMASK
from vfxgb.secagg.double_mask.messages import (
    CallOpened,
    MaskedVector,
    MaskKey,
    RecoverRequest,
    ShareRequest,
    SignRequest,
    Unmasking,
)
from vfxgb.secagg.double_mask.shares import SHARE_BYTES
from vfxgb.secagg.lists import read_users
from vfxgb.secagg.simulation import simulate

MakeRun = Callable[..., Run]
USERS = 6


def users_of(data: memoryview) -> set[int]:
    return set(read_users(data, "test"))


@pytest.mark.parametrize(("first", "second"), list(product([SHARE, MASK, SIGN, UNMASK], repeat=2)))
def test_never_both_secrets_of_one_user(masking: str, make_run: MakeRun, first: str, second: str) -> None:
    """Shares of mask keys are of users without a vector in the sum, shares of seeds and openings of users with one."""
    run = make_run(masking, threshold=4)
    run.drops = {1: first, 4: second}
    result = run.call()
    in_sum = set(result.users)
    shared = users_of(next(iter(run.requests(ShareRequest).values())).users) - {
        user for user, stage in run.drops.items() if stage == SHARE
    }
    unmasked = run.replies(Unmasking)
    assert set(unmasked) <= in_sum
    assert {len(reply.key_shares) for reply in unmasked.values()} == {SHARE_BYTES * len(shared - in_sum)}
    for request in run.requests(RecoverRequest).values():
        assert users_of(request.users) == in_sum - set(unmasked)
    assert bool(run.requests(RecoverRequest)) == (in_sum != set(unmasked))


def test_nothing_is_opened_below_the_threshold(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking)
    for stage in (JOIN, SHARE, MASK, SIGN):
        run.drops = dict.fromkeys((1, 2), stage)
        with pytest.raises(AggregationError, match=f"4 of 6 users are left after stage '{stage}', wanted at least 5"):
            run.call()
        assert not run.replies(Unmasking)


def test_keys_and_commitments_are_fresh(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking)
    seen: set[bytes] = set()
    for _ in range(3):
        run.call()
        for reply in run.replies(MaskKey).values():
            seen |= {reply.key, reply.commitment}
    assert len(seen) == 3 * USERS * 2


def test_masks_differ_per_entry(make_run: MakeRun) -> None:
    run = make_run("masks", n_entries=64)
    run.call()
    vectors = [np.frombuffer(reply.values, np.uint64) for reply in run.replies(MaskedVector).values()]
    masks = np.concatenate([v - x.astype(np.uint64) for v, x in zip(vectors, run.x, strict=True)])
    assert len(np.unique(masks)) == len(masks)


def test_everybody_is_told_the_same_survivors(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking)
    run.call_after(user_5="mask")
    lists = {bytes(request.users) for request in run.requests(SignRequest).values()}
    assert len(lists) == 1


def test_spare_joins_in_place_of_an_absent_user(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking, n_spares=2)
    run.drops = {2: JOIN}
    run.check(run.call(), (0, 1, 3, 4, 5, 6))
    assert len({request.call for request in run.requests(CallOpened).values()}) == 1
    run.drops = {2: JOIN, 3: JOIN, 6: JOIN}
    run.check(run.call(), (0, 1, 4, 5, 7))


def test_spare_after_sharing_starts_a_new_call(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking, n_spares=2)
    run.drops = {0: SHARE, 6: JOIN}
    run.check(run.call(), (1, 2, 3, 4, 5, 7))
    calls = [request.call for _, request in run.asked if isinstance(request, CallOpened)]
    assert len(set(calls)) == 2
    assert sorted(calls) == calls
    # Without a spare left the user is missing in the sum.
    run.drops = {0: SHARE, 6: SHARE, 7: SHARE}
    run.check(run.call(), (1, 2, 3, 4, 5))


def test_spares_are_not_asked_for_a_vector_that_fails_to_come(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking, n_spares=2)
    run.drops = {0: MASK}
    run.check(run.call(), (1, 2, 3, 4, 5))


def test_users_absent_at_set_up_are_left_out(masking: str) -> None:
    run = Run(masking, n_users=5, set_up=False)
    run.drops = {2: SETUP}
    assert run.parties.server.set_up() == (0, 1, 3, 4)
    run.drops = {}
    run.check(run.call((0, 1, 3, 4)), (0, 1, 3, 4))
    with pytest.raises(AggregationError, match="user 2, who was not set up"):
        run.call()


def test_too_few_users_at_set_up(masking: str) -> None:
    run = Run(masking, n_users=3, set_up=False)
    run.drops = dict.fromkeys((0, 1), SETUP)
    with pytest.raises(AggregationError, match="1 of 3 users are left after stage 'set-up'"):
        run.parties.server.set_up()


def test_a_user_named_twice(masking: str, make_run: MakeRun) -> None:
    with pytest.raises(AggregationError, match="a user twice"):
        make_run(masking).call((0, 1, 1, 2))


def test_sum_over_one_user_cannot_be_asked_for(masking: str) -> None:
    with pytest.raises(ParameterError, match="min_users=1, wanted at least 2"):
        Run(masking, min_users=1)


def test_thresholds_that_do_not_fit_the_call(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking, threshold=4)
    with pytest.raises(ParameterError, match="4 of 3 users"):
        run.call((0, 1, 2))


@pytest.mark.parametrize("slots", [1, 2, None])
def test_slots_give_the_same_sums(make_run: MakeRun, slots: int | None) -> None:
    run = make_run("bcp", n_entries=7, slots=slots, key_bits=320)
    run.check(run.call(), range(USERS))
    sizes = {len(reply.values) for reply in run.replies(MaskedVector).values()}
    assert sizes == {-(-7 // (slots or 4)) * 80}


def test_too_many_slots() -> None:
    with pytest.raises(ParameterError, match="slots=4, wanted at most 3 with key_bits=256"):
        Run("bcp", slots=4)


def test_small_keys_have_to_be_allowed() -> None:
    spec = aggregator_by_name("bcp")
    params = make_aggregator_params(spec, {"key_bits": 512})
    with pytest.raises(ValueError, match="insecure"):
        simulate(spec, params, range(3), lambda user, _: np.zeros(1, np.int64))


def test_every_user_may_check_on_its_own(masking: str) -> None:
    """All other runs of the suite check a signature once for all users."""
    spec = aggregator_by_name(masking)
    x = np.arange(12, dtype=np.int64).reshape(4, 3)
    params = make_aggregator_params(spec, spec.quick_params)
    parties = simulate(spec, params, range(4), lambda user, _: x[user])
    users = parties.server.set_up()
    assert parties.server.aggregate(b"", 3, users).sums.tolist() == x.sum(axis=0).tolist()


def test_costs_are_kept_per_stage(masking: str) -> None:
    run = Run(masking, n_users=4)
    run.call()
    run.call_after(user_1="sign")
    costs: Any = run.parties.exchange.costs
    assert list(costs) == [SETUP, JOIN, SHARE, MASK, SIGN, UNMASK, RECOVER]
    assert {stage: cost.asked for stage, cost in costs.items()} == {
        SETUP: 12,
        **dict.fromkeys((JOIN, SHARE, MASK), 8),
        SIGN: 7,
        UNMASK: 7,
        RECOVER: 3,
    }
    assert all(cost.up and cost.down and cost.user_seconds > 0 for cost in costs.values())
    assert set(run.parties.timings.seconds) == {*costs, "open"}
