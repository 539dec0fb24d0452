"""What every registered aggregator has to do, whatever it is made of (known answer 9)."""

from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests import examples
from secagg_runs import Run, expected_users
from vfxgb.errors import AggregationError, MessageError, ParameterError, ProtocolParameterError
from vfxgb.secagg import aggregator_by_name, make_aggregator_params
from vfxgb.secagg.base import JOIN, MASK, STAGES, threshold_of
from vfxgb.transport.messages import Catalogue, encode

USERS = 6
# Four of six: two may leave, which the default, five of six, would not allow.
THRESHOLD = 4


def check_call(run: Run, drops: dict[int, str]) -> None:
    run.drops = drops
    users = expected_users(run, drops)
    if users is None:
        with pytest.raises(AggregationError, match="users are left after stage"):
            run.call()
    else:
        run.check(run.call(), users)


def test_sum_equals_plain_sum(aggregator: str, make_run: Any) -> None:
    run = make_run(aggregator)
    run.check(run.call(), range(USERS))


@pytest.mark.parametrize("n_entries", [1, 3, 40])
def test_any_number_of_entries(aggregator: str, make_run: Any, n_entries: int) -> None:
    run = make_run(aggregator, n_users=3, n_entries=n_entries)
    run.check(run.call(), range(3))


def test_extreme_sums(aggregator: str, make_run: Any) -> None:
    run = make_run(aggregator, n_users=3, n_entries=7)
    top = 2**62 - 1
    before = run.x.copy()
    run.x[:] = [[top, -top, 0, 1, -1, 0, -top], [0, 0, 0, -1, -1, 0, 0], [0, 0, 0, 0, 0, -1, 0]]
    run.check(run.call(), range(3))
    run.x[:] = before


def test_calls_in_a_row_over_some_users(aggregator: str, make_run: Any) -> None:
    run = make_run(aggregator)
    if aggregator_by_name(aggregator).survives_drops:
        for users in ((0, 1, 2, 3), (2, 3, 5), (1, 4, 5), range(USERS)):
            run.check(run.call(users), tuple(users))


def test_every_drop_set_at_every_stage(robust: str, make_run: Any) -> None:
    """Exhaustive for six users: all 64 sets of users leave together, at each stage."""
    run = make_run(robust, threshold=THRESHOLD)
    everybody = range(USERS)
    for stage in run.stages:
        for gone in chain.from_iterable(combinations(everybody, size) for size in range(USERS + 1)):
            check_call(run, dict.fromkeys(gone, stage))


@examples(40)
@given(st.data())
def test_drops_at_mixed_stages(robust: str, make_run: Any, data: st.DataObject) -> None:
    """Who leaves when, drawn: recovery while others still leave, and more than six users."""
    n_users = data.draw(st.sampled_from([2, 3, 6, 9]))
    run = make_run(robust, n_users=n_users, threshold=n_users // 2 + 1)
    leaves = st.sampled_from([*STAGES, *[None] * 12])
    drawn = {user: data.draw(leaves) for user in range(n_users)}
    check_call(run, {user: stage for user, stage in drawn.items() if stage is not None})


def test_drops_stop_a_fragile_aggregator(fragile: str, make_run: Any) -> None:
    run = make_run(fragile)
    run.drops = {2: MASK}
    with pytest.raises(AggregationError):
        run.call()
    run.drops = {}
    run.check(run.call(), range(USERS))


def test_too_few_users_and_a_later_call(robust: str, make_run: Any) -> None:
    run = make_run(robust, threshold=THRESHOLD)
    run.drops = dict.fromkeys((0, 2, 4), MASK)
    with pytest.raises(AggregationError, match=r"3 of 6 users .* at least 4; nothing of this call was opened; try"):
        run.call()
    run.drops = {}
    run.check(run.call(), range(USERS))


def test_fewest_users(robust: str, make_run: Any) -> None:
    run = make_run(robust, threshold=THRESHOLD, min_users=6)
    run.drops = {1: MASK}
    with pytest.raises(AggregationError, match="at least 6"):
        run.call()


def test_the_same_vector_looks_different_in_every_call(secure: str, make_run: Any) -> None:
    """No message with a vector, and none of its entries, comes twice; nor does a clear one."""
    run = make_run(secure, n_entries=40)
    seen: list[bytes] = []
    for _ in range(2):
        run.call()
        largest = {user: max((encode(r) for u, r in run.replied if u == user), key=len) for user in range(USERS)}
        seen += largest.values()
    assert len(set(seen)) == 2 * USERS
    for payload in seen:
        for user in range(USERS):
            assert run.x[user, :2].tobytes() not in payload


def test_wrong_length_of_a_vector(aggregator: str) -> None:
    run = Run(aggregator, n_users=3)
    run.x = run.x[:, :2]
    with pytest.raises(MessageError, match=r"user 0.* 3 entries"):
        run.parties.server.aggregate(b"task", 3, range(3))


def test_messages_say_what_they_reveal(aggregator: str) -> None:
    messages = aggregator_by_name(aggregator).messages
    Catalogue(messages)
    assert all(len(kind.REVEALS.what) > 5 for kind in messages)


def test_unknown_parameters(aggregator: str) -> None:
    with pytest.raises(ProtocolParameterError, match="its parameters are: threshold, min_users"):
        make_aggregator_params(aggregator_by_name(aggregator), {"thresold": 3})


def test_default_threshold() -> None:
    assert [threshold_of(None, n) for n in (1, 2, 3, 4, 6, 9, 500)] == [1, 2, 3, 3, 5, 7, 334]
    assert threshold_of(0.6, 500) == 300
    assert threshold_of(4, 6) == 4


@pytest.mark.parametrize("given", [3, 7, 0, 0.5, 1.2])
def test_refused_thresholds(given: float) -> None:
    with pytest.raises(ParameterError, match="more than half"):
        threshold_of(given, 6)


def test_no_drop_before_the_vectors_is_needed(make_run: Any) -> None:
    run = make_run("plain")
    run.drops = {0: JOIN}
    run.check(run.call(), range(USERS))


def test_results_are_plain_arrays(aggregator: str, make_run: Any) -> None:
    result = make_run(aggregator).call()
    assert result.sums.dtype == np.int64
    assert result.sums.shape == (4,)
