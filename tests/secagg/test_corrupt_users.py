"""Users whose replies are wrong: the server says whose, at which stage, and gives no sum."""

from collections.abc import Callable
from typing import Any

import pytest

from secagg_runs import Change, Run, replaced
from vfxgb.errors import MessageError, SpoiledSumError
from vfxgb.secagg.double_mask.messages import (
    EncryptionKey,
    MaskedVector,
    MaskKey,
    OwnCiphertexts,
    Ready,
    SealedShares,
    SeedShares,
    Signed,
    Unmasking,
)

MakeRun = Callable[..., Run]
CULPRIT = 2


def flipped(data: memoryview | bytes) -> memoryview | bytes:
    """A bit in the middle is another."""
    changed = bytearray(data)
    changed[len(data) // 2] ^= 1
    return bytes(changed) if isinstance(data, bytes) else memoryview(bytes(changed))


def shorter(data: memoryview | bytes) -> memoryview | bytes:
    return data[:-1]


def another_call(call: int) -> int:
    return call + 1


# User 1 sends no vector, user 4 leaves while the sum is opened.
FAULTS: dict[str, tuple[Change, str]] = {
    "join, call": (replaced(MaskKey, call=another_call), "stage 'join', reply of user 2: found call"),
    "join, key": (replaced(MaskKey, key=b"short"), "reply of user 2: found mask key of 5 bytes, wanted 32"),
    "join, commitment": (replaced(MaskKey, commitment=b""), "found commitment of 0 bytes"),
    "join, other commitment": (replaced(MaskKey, commitment=flipped), "not what user 2 committed itself to"),
    "share, call": (replaced(SealedShares, call=another_call), "stage 'share', reply of user 2"),
    "share, size": (replaced(SealedShares, sealed=shorter), "stage 'share', reply of user 2: found 569 bytes"),
    "share, no mask secrets": (replaced(SealedShares, kept=memoryview(b"")), "mask secrets of 0 bytes, wanted 176"),
    "share, altered": (replaced(SealedShares, sealed=flipped), "user 3, .* the shares of user 2: .* altered"),
    "mask, call": (replaced(MaskedVector, call=another_call), "stage 'mask', reply of user 2"),
    "mask, size": (replaced(MaskedVector, values=shorter), "reading the vector of user 2: found"),
    "sign, call": (replaced(Signed, call=another_call), "stage 'sign', reply of user 2"),
    "sign, altered": (replaced(Signed, signature=flipped), "reply of user 2: its signature is not one of the list"),
    "sign, cut": (replaced(Signed, signature=shorter), "reply of user 2: its signature is not one of the list"),
    "unmask, call": (replaced(Unmasking, call=another_call), "stage 'unmask', reply of user 2"),
    "unmask, opening": (replaced(Unmasking, opening=flipped), "reply of user 2: it is not what user 2 committed"),
    "unmask, no shares": (replaced(Unmasking, key_shares=memoryview(b"")), "found shares of mask keys of 0 bytes"),
    "unmask, wrong share": (replaced(Unmasking, key_shares=flipped), "reconstructing the mask seed"),
    "recover, call": (replaced(SeedShares, call=another_call), "stage 'recover', reply of user 2"),
    "recover, size": (replaced(SeedShares, shares=shorter), "found shares of seeds of 32 bytes, wanted 33"),
    "recover, wrong share": (replaced(SeedShares, shares=flipped), "reconstructing the seed"),
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_faults_are_named(masking: str, make_run: MakeRun, fault: str) -> None:
    run = make_run(masking, threshold=4)
    change, says = FAULTS[fault]
    run.drops = {1: "mask", 4: "unmask"}
    run.change(replies=change, at=[CULPRIT])
    with pytest.raises(MessageError, match=says):
        run.call()
    run.change()
    run.check(run.call(), (0, 2, 3, 4, 5))


def test_ciphertexts_outside_the_group(make_run: MakeRun) -> None:
    run = make_run("bcp")
    run.change(replies=replaced(MaskedVector, values=lambda data: memoryview(bytes(len(data)))), at=[CULPRIT])
    with pytest.raises(MessageError, match="reading the vector of user 2"):
        run.call()


def test_altered_ciphertext_opens_to_nothing(make_run: MakeRun) -> None:
    run = make_run("bcp")
    run.change(replies=replaced(MaskedVector, values=flipped), at=[CULPRIT])
    with pytest.raises(MessageError, match="the blinders do not fit the vectors"):
        run.call()


def test_set_up_with_a_wrong_signature(masking: str) -> None:
    run = Run(masking, n_users=3, set_up=False)
    run.change(replies=replaced(EncryptionKey, signature=flipped), at=[CULPRIT])
    with pytest.raises(MessageError, match="the encryption key of user 2 is not signed with its identity"):
        run.parties.server.set_up()


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (lambda key: key[:-1], "found a public key of 1215 bytes, wanted 1216 of X25519 and ML-KEM-768"),
        (lambda key: key[:32], "found a public key of 32 bytes, wanted 1216"),
        (lambda key: bytes(32) + key[32:], "no X25519 key of full order"),
        (lambda key: key[:32] + b"\xff" * 1152 + key[1184:], "no public key of ML-KEM-768"),
    ],
)
def test_set_up_with_a_key_that_is_none(masking: str, key: Callable[[bytes], bytes], says: str) -> None:
    """Signed all the same: X25519 alone, a point of low order, numbers that are not reduced."""
    run = Run(masking, n_users=3, set_up=False)
    peers: Any = run.parties.users[CULPRIT]._peers  # type: ignore[attr-defined]
    peers._own.public = key(peers._own.public)
    with pytest.raises(MessageError, match=f"server, set-up: the encryption key of user 2: .*{says}"):
        run.parties.server.set_up()


def test_set_up_with_too_few_ciphertexts(masking: str) -> None:
    run = Run(masking, n_users=4, set_up=False)
    run.change(replies=replaced(OwnCiphertexts, ciphertexts=shorter), at=[CULPRIT])
    with pytest.raises(MessageError, match="the ciphertexts of user 2: found 1087 bytes, wanted 1088"):
        run.parties.server.set_up()


def test_a_ciphertext_for_nobody_shows_at_the_first_record(masking: str) -> None:
    """ML-KEM opens it to something random: what is sealed under that fits nothing."""
    run = Run(masking, n_users=4, set_up=False)
    run.change(replies=replaced(OwnCiphertexts, ciphertexts=flipped), at=[CULPRIT])
    run.parties.server.set_up()
    with pytest.raises(MessageError, match=r"user [23], .* the shares of user [23]: .* altered"):
        run.call()


def test_mask_secrets_that_do_not_open(masking: str, make_run: MakeRun) -> None:
    """They matter only if their user is absent; then the call is lost, and the user named."""
    run = make_run(masking, threshold=4)
    run.change(replies=replaced(SealedShares, kept=flipped), at=[CULPRIT])
    run.check(run.call(), range(6))
    run.drops = {CULPRIT: "mask"}
    with pytest.raises(SpoiledSumError, match=r"the mask secrets that user 2 left: .* altered"):
        run.call()


def test_set_up_with_a_wrong_count(masking: str) -> None:
    run = Run(masking, n_users=3, set_up=False)
    run.change(replies=replaced(Ready, n_users=2), at=[CULPRIT])
    with pytest.raises(MessageError, match="user 2 knows 2 keys, wanted those of 3 users"):
        run.parties.server.set_up()
