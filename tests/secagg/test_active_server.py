"""A server that lies: what it sends to one user is changed, and that user has to refuse, name the step and stop.

After a refusal nothing of the call may be got out of that user any more.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secagg_runs import Change, Run, replaced
from vfxgb.errors import MessageError, VfxgbError
from vfxgb.secagg.double_mask import server_call
from vfxgb.secagg.double_mask.messages import (
    CallOpened,
    Hello,
    KeyDirectory,
    MaskRequest,
    PeerCiphertexts,
    RecoverRequest,
    ShareRequest,
    SignRequest,
    Unmasking,
    UnmaskRequest,
)
from vfxgb.secagg.double_mask.shares import SEALED_BYTES
from vfxgb.secagg.lists import pack_users, read_users
from vfxgb.transport.messages import Message

MakeRun = Callable[..., Run]
VICTIM = 2
ROW = SEALED_BYTES


def users(*ids: int) -> memoryview:
    return pack_users(ids)


def more(*ids: int) -> Callable[[memoryview], memoryview]:
    """A list with users added and put in order."""
    return lambda data: pack_users(sorted({*read_users(data, ""), *ids}))


def without(*ids: int) -> Callable[[memoryview], memoryview]:
    return lambda data: pack_users([u for u in read_users(data, "") if u not in ids])


def doubled(data: memoryview) -> memoryview:
    ids = read_users(data, "")
    return memoryview(np.array([ids[0], *ids], np.uint32).tobytes())


def flipped(data: memoryview) -> memoryview:
    """One bit of the last byte is another."""
    changed = bytearray(data)
    changed[-1] ^= 1
    return memoryview(bytes(changed))


def swapped(data: memoryview) -> memoryview:
    """The first two sealed records are each in the other's place."""
    return memoryview(bytes(data[ROW : 2 * ROW]) + bytes(data[:ROW]) + bytes(data[2 * ROW :]))


def shorter(data: memoryview) -> memoryview:
    return data[:-1]


# Which message is changed how, and what the refusal says. Six users, five of them needed.
LIES: dict[str, tuple[Change, str]] = {
    "call number used before": (replaced(CallOpened, call=1), "wanted one above"),
    "call number that cannot be": (replaced(CallOpened, call=2**63), "wanted one above"),
    "joined without the user": (replaced(ShareRequest, users=without(VICTIM)), "a list without this user"),
    "joined with a stranger": (replaced(ShareRequest, users=more(77)), "found user 77"),
    "joined with a user twice": (replaced(ShareRequest, users=doubled), "duplicates"),
    "joined out of order": (replaced(ShareRequest, users=memoryview(b"\5\0\0\0\2\0\0\0")), "out of order"),
    "joined, half an id": (replaced(ShareRequest, users=shorter), "wanted 4 for each"),
    "threshold too low": (replaced(ShareRequest, threshold=4), "threshold 4 for 6 users, this user at least 5"),
    "threshold of one": (replaced(ShareRequest, threshold=1), "this user at least 5"),
    "threshold too high": (replaced(ShareRequest, threshold=7), "at most all"),
    "share, another call": (replaced(ShareRequest, call=lambda call: call + 1), "wanted call"),
    "shared with too few": (replaced(MaskRequest, users=users(0, VICTIM)), "a list of 2 users, wanted at least 5"),
    "shared without the user": (replaced(MaskRequest, users=without(VICTIM)), "a list without this user"),
    "shared with a stranger": (replaced(MaskRequest, users=more(6)), "found user 6 in the list"),
    "record altered": (replaced(MaskRequest, sealed=flipped), "the shares of user 5: .* altered"),
    "records exchanged": (replaced(MaskRequest, sealed=swapped), "the shares of user 0: .* another pair"),
    "records cut": (replaced(MaskRequest, sealed=shorter), "found 569 bytes, wanted 570"),
    "mask, another call": (replaced(MaskRequest, call=lambda call: call - 1), "wanted call"),
    "survivors without the user": (replaced(SignRequest, users=without(VICTIM)), "a list without this user"),
    "survivors with a stranger": (replaced(SignRequest, users=more(9)), "found user 9"),
    "survivors below the threshold": (replaced(SignRequest, users=without(0, 5)), "4 users, wanted at least 5"),
    "sign, another call": (replaced(SignRequest, call=1), "wanted call"),
    "too few signatures": (
        replaced(UnmaskRequest, users=users(0, 1, 3, 4), signatures=lambda data: data[: 4 * 64]),
        "found 4 signatures .*, wanted 5",
    ),
    "signature altered": (
        replaced(UnmaskRequest, signatures=lambda data: memoryview(bytes(64) + bytes(data[64:]))),
        "the signature of user 0 is not one of this list",
    ),
    "signer twice": (replaced(UnmaskRequest, users=doubled), "duplicates"),
    "signer who is no survivor": (
        replaced(UnmaskRequest, users=users(0, 1, 3, 4, 8)),
        "wanted only survivors among those who signed",
    ),
    "signatures cut": (replaced(UnmaskRequest, signatures=shorter), "wanted 320"),
    "unmask, another call": (replaced(UnmaskRequest, call=1), "wanted call"),
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_lies_are_refused(masking: str, make_run: MakeRun, lie: str) -> None:
    run = make_run(masking)
    run.call()
    change, says = LIES[lie]
    run.change(requests=change, at=[VICTIM])
    with pytest.raises(MessageError, match=rf"user {VICTIM}\b.*{says}"):
        run.call()
    assert VICTIM not in run.replies(Unmasking)
    # The user has done with that call.
    role = run.parties.users[VICTIM]
    for request in (ShareRequest(call=1, threshold=5, users=users(0, 1)), RecoverRequest(call=1, users=users(0))):
        with pytest.raises(MessageError, match="wanted 'secagg-call'"):
            role.handle(request)
    run.change()
    run.check(run.call(), range(6))


def test_two_lists_of_survivors_open_nothing(masking: str, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """User 0 is told other survivors than the rest, and the server does not mind what it signs."""
    monkeypatch.setattr(server_call, "verify", lambda *_: True)
    run = make_run(masking, threshold=4)
    run.drops = {5: "mask"}
    run.change(requests=replaced(SignRequest, users=more(5)), at=[0])
    with pytest.raises(MessageError, match=r"user 0, .* the signature of user 1 is not one of this list"):
        run.call()
    with pytest.raises(MessageError, match=r"user 3, .* the signature of user 0 is not one of this list"):
        run.parties.users[3].handle(run.requests(UnmaskRequest)[0])
    assert not run.replies(Unmasking)


def test_different_tasks_for_different_users_are_noticed(masking: str, make_run: MakeRun) -> None:
    """Asking the others for something known, or empty, would leave one user alone in the sum."""
    run = make_run(masking)
    run.change(requests=replaced(MaskRequest, task=memoryview(b"another")), at=[VICTIM])
    with pytest.raises(MessageError, match=f"reply of user {VICTIM}: its signature"):
        run.call()


def test_a_user_signs_one_list_and_opens_once(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking)
    for kind in (ShareRequest, MaskRequest, SignRequest, UnmaskRequest):
        run.call()
        again = run.requests(kind)[VICTIM]
        role = run.parties.users[VICTIM]
        with pytest.raises(MessageError, match=f"found message '{again.TAG}', wanted 'secagg-missing'"):
            role.handle(again)


def test_seeds_of_absent_users_are_not_given(masking: str, make_run: MakeRun) -> None:
    """The server has the mask key of user 1 and now asks for the shares of its seed as well."""
    run = make_run(masking)
    run.drops = {1: "mask"}
    for wanted in ((1,), (0, 1), (VICTIM,), (8,)):
        run.call()
        call = run.requests(UnmaskRequest)[VICTIM].call
        with pytest.raises(MessageError, match="wanted only other users whose vectors are in the sum"):
            run.parties.users[VICTIM].handle(RecoverRequest(call=call, users=users(*wanted)))


def test_recovery_happens_once(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking)
    run.call()
    request = RecoverRequest(call=run.requests(UnmaskRequest)[VICTIM].call, users=users(0))
    role = run.parties.users[VICTIM]
    role.handle(request)
    with pytest.raises(MessageError, match="wanted 'secagg-call'"):
        role.handle(request)


def test_records_of_an_earlier_call_are_refused(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking)
    run.call()
    old = run.requests(MaskRequest)[VICTIM].sealed
    run.change(requests=replaced(MaskRequest, sealed=old), at=[VICTIM])
    with pytest.raises(MessageError, match=r"the shares of user 0: .* another pair of users, call or run"):
        run.call()


def test_replayed_call_is_refused(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking)
    run.call()
    opened = run.requests(CallOpened)[VICTIM]
    with pytest.raises(MessageError, match="a number is used once"):
        run.parties.users[VICTIM].handle(opened)


SET_UP_LIES: dict[str, tuple[Change, str]] = {
    "own key missing": (
        replaced(
            KeyDirectory,
            users=without(VICTIM),
            keys=lambda data: memoryview(bytes(data[: 2 * 1216]) + bytes(data[3 * 1216 :])),
            signatures=lambda data: memoryview(bytes(data[:128]) + bytes(data[192:])),
        ),
        "does not hold this user's own",
    ),
    "stranger": (replaced(KeyDirectory, users=users(0, 1, 2, 9)), "wanted only users with an identity key"),
    "signature of another user": (
        replaced(KeyDirectory, signatures=lambda data: memoryview(bytes(data[64:128]) + bytes(data[64:]))),
        "user 0 is not signed with its identity",
    ),
    "keys cut": (replaced(KeyDirectory, keys=shorter), "found 4863 bytes, wanted 4864"),
    "keys of X25519 alone": (
        replaced(KeyDirectory, keys=lambda data: memoryview(bytes(4 * 32))),
        "found 128 bytes, wanted 4864",
    ),
    "ciphertexts cut": (replaced(PeerCiphertexts, ciphertexts=shorter), "found 2175 bytes, wanted 2176"),
    "ciphertexts of higher users": (replaced(PeerCiphertexts, users=users(0, 3)), "found user 3 in the list"),
    "ciphertexts of the user itself": (replaced(PeerCiphertexts, users=users(0, 2)), "found user 2 in the list"),
    "directory twice": (
        lambda message: (
            KeyDirectory(users=users(), keys=memoryview(b""), signatures=memoryview(b""))
            if isinstance(message, PeerCiphertexts)
            else None
        ),
        "out of order",
    ),
    "ciphertexts before the keys": (
        lambda message: (
            PeerCiphertexts(users=users(), ciphertexts=memoryview(b"")) if isinstance(message, KeyDirectory) else None
        ),
        "out of order",
    ),
}


@pytest.mark.parametrize("lie", sorted(SET_UP_LIES))
def test_lies_at_set_up(masking: str, lie: str) -> None:
    run = Run(masking, n_users=4, set_up=False)
    change, says = SET_UP_LIES[lie]
    run.change(requests=change, at=[VICTIM])
    with pytest.raises(MessageError, match=rf"user {VICTIM}, set-up.*{says}"):
        run.parties.server.set_up()
    with pytest.raises(MessageError, match="before the keys and ciphertexts of all users came"):
        run.parties.users[VICTIM].handle(CallOpened(call=5))


def test_a_user_whose_ciphertext_was_held_back(masking: str) -> None:
    """Who has no secret with somebody takes part in no call with it."""
    run = Run(masking, n_users=4, set_up=False)
    change = replaced(PeerCiphertexts, users=users(1), ciphertexts=lambda data: data[1088:])
    run.change(requests=change, at=[VICTIM])
    run.parties.server.set_up()
    with pytest.raises(MessageError, match=f"user {VICTIM}, .*found user 0 in the list, wanted only users of the dir"):
        run.call()


def test_server_key_that_protects_nothing() -> None:
    """1 or 1 + N in the place of the server's key would make the encryption void."""
    run = Run("bcp", n_users=3, set_up=False)
    group = run.parties.server._masking.group  # type: ignore[attr-defined]
    for value in (1, 1 + group.n, group.n**2 - 1):
        with pytest.raises(MessageError, match="user 0, set-up: the server's public key"):
            run.parties.users[0].handle(Hello(server_key=memoryview(group.element(value))))
    with pytest.raises(MessageError, match="found 3 bytes"):
        run.parties.users[0].handle(Hello(server_key=memoryview(b"abc")))


def test_masks_takes_no_server_key() -> None:
    with pytest.raises(MessageError, match="wanted none with 'masks'"):
        Run("masks", n_users=3, set_up=False).parties.users[0].handle(Hello(server_key=memoryview(b"abc")))


def test_foreign_message(masking: str, make_run: MakeRun) -> None:
    class Other(Message, frozen=True):
        TAG = "other"

    with pytest.raises(VfxgbError, match="found message 'other'"):
        make_run(masking).parties.users[0].handle(Other())


def test_no_secret_in_a_repr(masking: str, make_run: MakeRun) -> None:
    run = make_run(masking)
    run.call()
    secrets: Any = run.parties.users[0]._call._secrets  # type: ignore[attr-defined]
    assert repr(secrets) == "CallSecrets()"
    assert repr(secrets.seed)[2:-1] not in repr(vars(run.parties.users[0]._call))  # type: ignore[attr-defined]
