"""What users remember of sums: they refuse sets of users that a server could subtract from each other."""

from pathlib import Path

import numpy as np
import pytest

from secagg_runs import Run, replaced
from vfxgb.errors import FormatError, MessageError
from vfxgb.secagg.double_mask.messages import MaskRequest, SignRequest
from vfxgb.secagg.guard import NOT_COMPARED, GuardRules, SetGuard, default_hidden
from vfxgb.secagg.lists import pack_users, read_users
from vfxgb.transport.messages import pack_bytes

STEP = "user 3, stage 'sign'"
TASK, OTHER = pack_bytes(b"one"), pack_bytes(b"two")
EVERYBODY = tuple(range(40))


def guard(k: int = 10, **rules: object) -> SetGuard:
    return SetGuard(GuardRules(hide_among=k, **rules))  # type: ignore[arg-type]


def test_how_many_users_hide_one() -> None:
    assert [default_hidden(n) for n in (2, 99, 101, 1000)] == [10, 10, 11, 100]
    assert GuardRules.default(6) == GuardRules(10, 5)
    assert GuardRules.default(1000) == GuardRules(100, 100)


def test_two_sets_that_differ_by_one(masking: str) -> None:
    """A server that leaves one user out of the next sum gets nothing, and the difference with it."""
    run = Run(masking, compared=True)
    run.check(run.call(task=b"first"), range(6))
    for users in (range(5), range(1, 6)):
        with pytest.raises(MessageError, match=r"stage 'sign'.* differs by 1 \(user [05]\) .* wanted the same users"):
            run.call(users, task=b"second")
    run.check(run.call(task=b"second"), range(6))


def test_a_task_that_is_asked_again(masking: str) -> None:
    """With the same users it may be: a call can fail. With others it is refused, however many differ."""
    run = Run(masking, n_users=4, compared=True, threshold=3)
    for _ in range(2):
        run.check(run.call(task=b"first"), range(4))
    with pytest.raises(MessageError, match="has signed before with another set of users, wanted every task once"):
        run.call(range(3), task=b"first")
    remembers = guard()
    remembers.admit(STEP, TASK, EVERYBODY)
    remembers.admit(STEP, OTHER, EVERYBODY[:30])
    with pytest.raises(MessageError, match="wanted every task once"):
        remembers.admit(STEP, TASK, EVERYBODY[:30])


def test_survivors_that_differ_by_one(masking: str) -> None:
    """The list of vectors that arrived is another than that of the first sum, though all were asked."""
    run = Run(masking, compared=True)
    run.call(task=b"first")
    run.drops = {4: "mask"}
    with pytest.raises(MessageError, match=r"differs by 1 \(user 4\)"):
        run.call(task=b"second")


def test_one_user_refuses_alone(masking: str) -> None:
    """Others may be lied to: a user that is shown another list than they are does not sign it."""
    run = Run(masking, compared=True)
    run.call(task=b"first")
    shorter = replaced(SignRequest, users=lambda data: pack_users([u for u in read_users(data, "") if u != 5]))
    run.change(requests=shorter, at=[2])
    with pytest.raises(MessageError, match=r"user 2, .* differs by 1 \(user 5\)"):
        run.call(task=b"second")


def test_sets_that_differ_by_many() -> None:
    remembers = guard()
    remembers.admit(STEP, TASK, EVERYBODY)
    with pytest.raises(MessageError, match=r"differs by 9 \(user 31, 32, 33, 34, 35, ...\) from one of 40"):
        remembers.admit(STEP, OTHER, EVERYBODY[:31])
    remembers.admit(STEP, OTHER, EVERYBODY[:30])
    remembers.admit(STEP, pack_bytes(b"three"), EVERYBODY)
    # Twenty differ, but neither set lies within the other: three such sets can give a single user away.
    with pytest.raises(MessageError, match="differs by 20"):
        remembers.admit(STEP, pack_bytes(b"four"), EVERYBODY[10:])
    with pytest.raises(MessageError, match=r"differs by 1 "):
        remembers.admit(STEP, pack_bytes(b"four"), EVERYBODY[:29])


def test_a_phase_ends_with_the_tree_or_with_the_run() -> None:
    for compare, says in (("tree", None), ("run", "signed since the run began")):
        remembers = guard(compare=compare)
        remembers.admit(STEP, TASK, EVERYBODY)
        remembers.next_phase()
        if says is None:
            remembers.admit(STEP, TASK, EVERYBODY[1:])
            with pytest.raises(MessageError, match="since the last tree was published"):
                remembers.admit(STEP, OTHER, EVERYBODY[2:])
        else:
            with pytest.raises(MessageError, match=says):
                remembers.admit(STEP, OTHER, EVERYBODY[1:])


def test_sums_that_others_may_have_opened() -> None:
    """A user masks for a list, and is never asked to sign; a small list would be signed by those alone."""
    remembers = guard()
    remembers.hear(STEP, TASK, EVERYBODY, 27)
    with pytest.raises(MessageError, match=r"14 users of whom 10 have to sign, wanted more than half of the 40 users"):
        remembers.hear(STEP, OTHER, EVERYBODY[:14], 10)
    with pytest.raises(MessageError, match=r"more than half of the 55 users"):
        remembers.hear(STEP, OTHER, tuple(range(30, 55)), 17)
    remembers.hear(STEP, OTHER, EVERYBODY[:35], 24)
    # The smallest threshold so far counts: that call may be the one that was opened.
    with pytest.raises(MessageError, match="more than half of the 48"):
        remembers.hear(STEP, OTHER, tuple(range(48)), 48)


def test_a_small_list_beside_a_large_one(masking: str) -> None:
    run = Run(masking, n_users=9, compared=True)
    run.drops = {7: "sign", 8: "sign"}
    run.check(run.call(task=b"first"), range(9))
    run.drops = {}
    with pytest.raises(MessageError, match=r"user [78]\b.*2 have to sign, wanted more than half of the 9 users"):
        run.call((7, 8), task=b"second")


def test_too_many_calls_and_too_few_users() -> None:
    remembers = guard(max_calls=2, least=5)
    remembers.admit(STEP, TASK, EVERYBODY)
    with pytest.raises(MessageError, match="a sum over 4 users, wanted at least 5"):
        remembers.admit(STEP, OTHER, EVERYBODY[:4])
    remembers.admit(STEP, TASK, EVERYBODY)
    with pytest.raises(MessageError, match="helped to open 2 sums, wanted at most 2 in a run"):
        remembers.admit(STEP, TASK, EVERYBODY)


def test_topics_are_compared_with_their_like() -> None:
    remembers = SetGuard(GuardRules(10), lambda task: bytes(task[:1]).decode())
    remembers.admit(STEP, pack_bytes(b"a1"), EVERYBODY)
    remembers.admit(STEP, pack_bytes(b"b1"), EVERYBODY[1:])
    with pytest.raises(MessageError, match="differs by 1"):
        remembers.admit(STEP, pack_bytes(b"b2"), EVERYBODY)


def test_users_that_allow_everything() -> None:
    remembers = guard(NOT_COMPARED)
    remembers.hear(STEP, TASK, EVERYBODY, 1)
    for users in (EVERYBODY, EVERYBODY[1:], EVERYBODY[:7]):
        remembers.admit(STEP, TASK, users)


def test_what_is_kept_holds_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "signed.json"
    first = SetGuard(GuardRules(10), file=file)
    first.hear(STEP, TASK, EVERYBODY, 27)
    first.admit(STEP, TASK, EVERYBODY)
    again = SetGuard(GuardRules(10), file=file)
    assert again.calls == 1
    with pytest.raises(MessageError, match="differs by 1"):
        again.admit(STEP, OTHER, EVERYBODY[1:])
    with pytest.raises(MessageError, match="more than half"):
        again.hear(STEP, OTHER, EVERYBODY[:9], 7)
    first.next_phase()
    SetGuard(GuardRules(10), file=file).admit(STEP, OTHER, EVERYBODY[1:])
    file.write_bytes(b'{"calls": "none"}')
    with pytest.raises(FormatError, match="reading the signed sets"):
        SetGuard(GuardRules(10), file=file)


def test_a_refusal_is_not_remembered() -> None:
    remembers = guard()
    remembers.admit(STEP, TASK, EVERYBODY)
    for _ in range(2):
        with pytest.raises(MessageError):
            remembers.admit(STEP, OTHER, EVERYBODY[1:])
    remembers.admit(STEP, OTHER, EVERYBODY)
    assert remembers.calls == 2


@pytest.mark.parametrize("seed", range(4))
def test_nothing_but_sums_over_k_users_can_be_made_of_what_was_signed(seed: int) -> None:
    """Sets at random, of which one user signs what it may: no combination of their sums is over fewer than k users."""
    rng = np.random.default_rng(seed)
    remembers = guard(5)
    signed = []
    for number in range(300):
        size = int(rng.integers(5, 41))
        users = EVERYBODY[:size] if rng.random() < 0.5 else tuple(sorted(rng.choice(40, size, replace=False).tolist()))
        try:
            remembers.admit(STEP, pack_bytes(number.to_bytes(4, "little")), users)
        except MessageError:
            continue
        signed.append(np.isin(EVERYBODY, users))
    assert len({row.tobytes() for row in signed}) > 2
    # Users whom no sum tells apart have the same pattern: every combination has the same factor for all of them.
    patterns, counts = np.unique(np.array(signed).T, axis=0, return_counts=True)
    assert all(count >= 5 for pattern, count in zip(patterns, counts, strict=True) if pattern.any())


def test_mask_requests_are_heard_before_anything_is_sent(masking: str) -> None:
    run = Run(masking, n_users=8, compared=True)
    run.call(task=b"first")
    run.change(requests=replaced(MaskRequest, task=pack_bytes(b"another")), at=[2])
    with pytest.raises(MessageError, match="reply of user 2: its signature"):
        run.call(task=b"second")
