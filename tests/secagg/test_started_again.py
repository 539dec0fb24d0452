"""Users and servers that are started again within a run: what goes on, and what nobody gains by it."""

from pathlib import Path

import numpy as np
import pytest

from secagg_runs import Run
from vfxgb.errors import MessageError
from vfxgb.secagg.double_mask.messages import CallOpened, EncryptionKey, Hello, KeyDirectory, MaskRequest
from vfxgb.secagg.guard import GuardRules, SetGuard
from vfxgb.transport.messages import pack_bytes

MASKING = ("masks", "bcp")
STEP, FIRST, SECOND = "user 0", pack_bytes(b"first"), pack_bytes(b"second")
EVERYBODY = tuple(range(40))


@pytest.fixture(params=MASKING)
def run(request: pytest.FixtureRequest) -> Run:
    return Run(request.param)


def test_keys_are_agreed_on_again(run: Run) -> None:
    """With nothing in common with those before, and the sums go on."""
    assert np.array_equal(run.call().sums, run.x.sum(axis=0))
    before = {user: dict(role._peers._secrets) for user, role in run.parties.users.items()}
    keys = {user: role._peers._own.public for user, role in run.parties.users.items()}
    assert run.parties.server.set_up() == tuple(range(run.n_users))
    for user, role in run.parties.users.items():
        assert role._peers._own.public != keys[user]
        assert not set(role._peers._secrets.values()) & set(before[user].values())
    assert np.array_equal(run.call().sums, run.x.sum(axis=0))


def test_who_was_away_then_has_dropped_out(run: Run) -> None:
    run.call()
    run.parties.exchange.leave_out(lambda stage, user: stage == "set-up" and user == 2)
    assert run.parties.server.set_up() == (0, 1, 3, 4, 5)
    result = run.call()
    assert result.users == (0, 1, 3, 4, 5)
    assert np.array_equal(result.sums, np.delete(run.x, 2, axis=0).sum(axis=0))


def test_a_call_does_not_outlive_its_keys(run: Run) -> None:
    """Between MASK and SIGN: whoever agreed on new keys has nothing of the call left."""
    user = run.parties.users[0]
    run.change(requests=lambda message: user.handle(Hello(server_key=_server_key(run))) and None, at=[1])
    with pytest.raises(MessageError, match="user 0"):
        run.call()


def _server_key(run: Run) -> memoryview:
    return pack_bytes(run.parties.server._masking.server_key())


def test_a_directory_needs_a_hello(run: Run) -> None:
    empty = memoryview(b"")
    with pytest.raises(MessageError, match="a second time or out of order"):
        run.parties.users[0].handle(KeyDirectory(users=empty, keys=empty, signatures=empty))
    assert isinstance(run.parties.users[0].handle(Hello(server_key=_server_key(run))), EncryptionKey)


def test_numbers_of_calls_are_used_once(run: Run, tmp_path: Path) -> None:
    """A user that was started again signs nothing else for a call that it has masked a vector in."""
    run.call()
    numbers = [message.call for _, message in run.asked if isinstance(message, MaskRequest)]
    guard = SetGuard(GuardRules(hide_among=10), file=tmp_path / "signed.json")
    guard.begin(max(numbers))
    again = SetGuard(GuardRules(hide_among=10), file=tmp_path / "signed.json")
    assert again.last_call == max(numbers)
    run.parties.server.set_up()
    user = run.parties.users[0]
    assert user._last_call == max(numbers)
    with pytest.raises(MessageError, match=f"found call number {max(numbers)}, wanted one above {max(numbers)}"):
        user.handle(CallOpened(call=max(numbers)))


def test_trees_that_are_told_again_begin_no_phase(tmp_path: Path) -> None:
    """Attack: a server makes a user start again and tells it the known trees, to have it forget the cohort."""
    file = tmp_path / "signed.json"
    first = SetGuard(GuardRules(hide_among=10), file=file)
    first.next_phase(1)
    first.next_phase(2)
    first.admit(STEP, FIRST, EVERYBODY)
    again = SetGuard(GuardRules(hide_among=10), file=file)
    for rounds in (1, 2):
        again.next_phase(rounds)
    for task in (FIRST, SECOND):
        with pytest.raises(MessageError, match=r"signed before with another set|differs by 1 "):
            again.admit(STEP, task, EVERYBODY[1:])
    again.admit(STEP, FIRST, EVERYBODY)
    again.next_phase(3)
    again.admit(STEP, SECOND, EVERYBODY[1:])
