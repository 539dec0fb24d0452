"""One call at the server: the stages, what is checked of the replies, and how the sum is opened.

    U0 joined, U1 shared their secrets, U' sent vectors, U'' sent their openings

The sum over U' still holds the masks between U' and U1 \\ U', which follow from the mask keys of the latter, and the
masks of the users of U' themselves, which follow from their
openings. Mask keys are put together from the shares of U'';
so are the seeds of U' \\ U'', if there are any (ERRATA E18).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from vfxgb.crypto.key_agreement import KEY_BYTES, SEAL_BYTES, verify
from vfxgb.crypto.key_batches import Rows, rows_of
from vfxgb.errors import InvalidCiphertextError, MessageError, ShareError, SpoiledSumError
from vfxgb.secagg.base import (
    JOIN,
    MASK,
    RECOVER,
    SHARE,
    SIGN,
    UNMASK,
    Accept,
    Aggregate,
    ServerContext,
    collect,
    require_users,
)
from vfxgb.secagg.double_mask.messages import (
    CallOpened,
    MaskedVector,
    MaskKey,
    MaskRequest,
    RecoverRequest,
    SealedShares,
    SeedShares,
    ShareRequest,
    Signed,
    SignRequest,
    Unmasking,
    UnmaskRequest,
)
from vfxgb.secagg.double_mask.modes import ServerMasking, VectorSum
from vfxgb.secagg.double_mask.relay import Relay, Requests
from vfxgb.secagg.double_mask.shares import (
    SEALED_BYTES,
    SHARE_BYTES,
    PairKeys,
    commitment_to,
    kept_bytes,
    mask_key_of,
    open_kept,
    pair_keys,
    recover,
    vector_context,
)
from vfxgb.secagg.lists import Statement, pack_users, task_digest
from vfxgb.transport.messages import Message, pack_bytes, unpack_array

OPEN = "open"

Reply = TypeVar("Reply", MaskKey, SealedShares, MaskedVector, Signed, Unmasking, SeedShares)
# (user, its reply, words that errors begin with); raises MessageError for a reply that cannot be right.
Take: TypeAlias = Callable[[int, Reply, str], None]


class ServerCall:
    """The state of a call: join, share, then finish.

    `threshold`: t, users that have to help to open the sum. `wanted`: fewest users in it, at least t.
    """

    def __init__(
        self, context: ServerContext, masking: ServerMasking, number: int, threshold: int, wanted: int
    ) -> None:
        self._context = context
        self._masking = masking
        self._number = number
        self._vector_context = vector_context(context.run, number)
        self._threshold = threshold
        self._wanted = wanted
        self._keys: dict[int, MaskKey] = {}
        self._joined: tuple[int, ...] = ()
        self._shared: tuple[int, ...] = ()
        self._sealed = Relay(SEALED_BYTES)
        self._kept = Relay(SEAL_BYTES)

    def join(self, users: Sequence[int], spares: list[int]) -> tuple[int, ...]:
        """Ask users, and for each that does not answer a spare, which is taken off `spares`. Returns U0."""
        request = CallOpened(call=self._number)
        asked: Sequence[int] = users
        while asked:
            self._keys |= self._replies(JOIN, asked, request, MaskKey, _check_mask_key)
            lost = len(users) - len(self._keys)
            asked = spares[:lost]
            del spares[:lost]
        self._joined = tuple(sorted(self._keys))
        return self._joined

    def share(self) -> tuple[int, ...]:
        """Collect the sealed shares. Returns U1."""
        users = self._joined
        request = ShareRequest(call=self._number, threshold=self._threshold, users=pack_users(users))
        shared: list[int] = []

        def take(user: int, reply: SealedShares, step: str) -> None:
            unpack_array(reply.sealed, np.uint8, (len(users) - 1, SEALED_BYTES), step)
            _require_size(reply.kept, kept_bytes(len(users)), step, "mask secrets")
            self._sealed.add(user, reply.sealed)
            self._kept.add(user, reply.kept)
            shared.append(user)

        self._collect(SHARE, dict.fromkeys(users, request), SealedShares, take)
        self._shared = tuple(sorted(shared))
        return self._shared

    def finish(self, task: bytes, n_entries: int, accept: Accept) -> Aggregate:
        """All that follows. `accept`: told whose vectors have arrived, before any of them is opened."""
        vectors = self._masking.begin(n_entries, self._vector_context)
        survivors = self._collect_vectors(vectors, task, n_entries)
        require_users(MASK, len(survivors), len(self._joined), self._wanted)
        accept(survivors)
        statement = Statement(
            run=self._context.run,
            call=self._number,
            threshold=self._threshold,
            n_entries=n_entries,
            joined=self._joined,
            shared=self._shared,
            survivors=survivors,
            task=task_digest(task),
        )
        signatures = self._collect_signatures(statement)
        self._require(SIGN, signatures)
        replies = self._collect_openings(survivors, signatures)
        self._require(UNMASK, replies)
        openings = {user: reply.opening for user, reply in replies.items()}
        missing = [user for user in survivors if user not in openings]
        if missing:
            openings |= self._recover_openings(missing, sorted(openings))
        with self._context.timings.phase(OPEN):
            sums = vectors.open(openings, self._remaining_masks(survivors, replies))
        return Aggregate(sums, survivors)

    def _collect_vectors(self, vectors: VectorSum, task: bytes, n_entries: int) -> tuple[int, ...]:
        users = self._shared
        names, contents = pack_users(users), pack_bytes(task)
        position = {user: i for i, user in enumerate(self._joined)}

        def request(user: int) -> MaskRequest:
            with self._context.timings.phase(MASK):
                i = position[user]
                # Nobody seals anything for itself.
                sealed = b"".join(self._sealed.piece(peer, i - (peer < user)) for peer in users if peer != user)
            return MaskRequest(
                call=self._number, n_entries=n_entries, users=names, sealed=pack_bytes(sealed), task=contents
            )

        arrived: list[int] = []

        def take(user: int, reply: MaskedVector, step: str) -> None:
            del step
            vectors.add(user, reply.values)
            arrived.append(user)

        self._collect(MASK, Requests(users, request), MaskedVector, take)
        self._sealed.close()
        return tuple(sorted(arrived))

    def _collect_signatures(self, statement: Statement) -> dict[int, bytes]:
        request = SignRequest(call=self._number, users=pack_users(statement.survivors))
        signed = statement.signed_bytes()

        def check(user: int, reply: Signed, step: str) -> None:
            if not verify(self._context.directory[user], signed, reply.signature):
                raise MessageError(f"{step}: its signature is not one of the list of survivors it was sent")

        replies = self._replies(SIGN, statement.survivors, request, Signed, check)
        return {user: reply.signature for user, reply in replies.items()}

    def _collect_openings(self, survivors: tuple[int, ...], signatures: dict[int, bytes]) -> dict[int, Unmasking]:
        signers = sorted(signatures)
        size = (len(self._shared) - len(survivors)) * SHARE_BYTES
        # As many signatures as users look at.
        shown = signers[: self._threshold]
        request = UnmaskRequest(
            call=self._number,
            users=pack_users(shown),
            signatures=pack_bytes(b"".join(signatures[user] for user in shown)),
        )

        def check(user: int, reply: Unmasking, step: str) -> None:
            if not self._is_opening(user, reply.opening):
                raise MessageError(f"{step}: it is not what user {user} committed itself to when it joined")
            _require_size(reply.key_shares, size, step, "shares of mask keys")

        return self._replies(UNMASK, signers, request, Unmasking, check)

    def _recover_openings(self, missing: Sequence[int], holders: Sequence[int]) -> dict[int, bytes]:
        """The openings of survivors that left, from the shares of those who are still there."""
        request = RecoverRequest(call=self._number, users=pack_users(missing))

        def check(user: int, reply: SeedShares, step: str) -> None:
            del user
            _require_size(reply.shares, len(missing) * SHARE_BYTES, step, "shares of seeds")

        replies = self._replies(RECOVER, holders, request, SeedShares, check)
        self._require(RECOVER, replies)
        shares = {user: reply.shares for user, reply in replies.items()}
        with self._context.timings.phase(RECOVER):
            openings = {
                user: self._masking.opening(seed, self._vector_context)
                for user, seed in self._from_shares(missing, shares, "seed").items()
            }
            for user, opening in openings.items():
                if not self._is_opening(user, opening):
                    step = f"server, call {self._number}, reconstructing the seed of user {user}"
                    self._spoiled(
                        RECOVER, user, f"{step}: it is not what user {user} committed itself to when it joined"
                    )
        return openings

    def _replies(
        self, stage: str, users: Sequence[int], request: Message, kind: type[Reply], check: Take[Reply]
    ) -> dict[int, Reply]:
        """What users reply to one request, by user, as far as it passes the check."""
        replies: dict[int, Reply] = {}

        def take(user: int, reply: Reply, step: str) -> None:
            check(user, reply, step)
            replies[user] = reply

        self._collect(stage, dict.fromkeys(users, request), kind, take)
        return replies

    def _collect(self, stage: str, requests: Mapping[int, Message], kind: type[Reply], take: Take[Reply]) -> None:
        """Give each reply of this call to `take`, with words for its errors: who replied when."""

        def checked(user: int, reply: Reply) -> None:
            step = f"server, call {self._number}, stage {stage!r}, reply of user {user}"
            if reply.call != self._number:
                raise MessageError(f"{step}: found call {reply.call}, wanted {self._number}")
            take(user, reply, step)

        collect(self._context.exchange, stage, requests, kind, checked, partial(self._context.timings.phase, stage))

    def _remaining_masks(self, survivors: tuple[int, ...], replies: dict[int, Unmasking]) -> PairKeys:
        """The masks between survivors and those who shared and sent nothing, with the sign that takes them off."""
        absent = [user for user in self._shared if user not in set(survivors)]
        if not absent:
            return PairKeys.of([], [])
        context = self._context
        public_keys = rows_of([self._keys[survivor].key for survivor in survivors])
        places = np.array(survivors)
        seeds = self._from_shares(absent, {user: reply.key_shares for user, reply in replies.items()}, "mask seed")
        pairs = []
        for user in absent:
            own = mask_key_of(seeds[user])
            if own.public != self._keys[user].key:
                self._spoiled(
                    UNMASK,
                    user,
                    f"server, call {self._number}, reconstructing the mask seed of user {user}: the shares do not give "
                    "the key it joined with; some user holds or sent wrong ones",
                )
            secrets = self._mask_secrets(user, seeds[user], places)
            # The mask of the absent one would have cancelled that of the survivor. Keys of survivors that are none
            # they would have been refused by users before.
            pairs.append(
                pair_keys(own, user, public_keys, survivors, context.run, self._number, secrets, context.threads)
            )
        return PairKeys.joined(pairs)

    def _mask_secrets(self, user: int, mask_seed: bytes, survivors: NDArray[np.int64]) -> Rows:
        """What an absent user has with each of the survivors."""
        others = [other for other in self._joined if other != user]
        try:
            secrets = open_kept(mask_seed, self._kept.all_of(user), self._context.run, self._number, user)
        except InvalidCiphertextError as error:
            self._spoiled(UNMASK, user, f"server, call {self._number}, the mask secrets that user {user} left: {error}")
        return secrets[np.searchsorted(others, survivors)]

    def _from_shares(self, owners: Sequence[int], shares: dict[int, memoryview], what: str) -> dict[int, bytes]:
        holders = sorted(shares)
        step = f"server, call {self._number}, reconstructing the {what}s of {len(owners)} users"
        shape = (len(owners), SHARE_BYTES)
        rows = np.stack([unpack_array(shares[user], np.uint8, shape, step) for user in holders], axis=1)
        try:
            secrets = recover(holders, rows, self._threshold, self._context.threads)
        except ShareError as error:
            raise SpoiledSumError(f"{step}: {error}; some user holds or sent wrong shares") from None
        secret_of = {}
        for user, secret in zip(owners, secrets, strict=True):
            if secret is None:
                raise SpoiledSumError(f"{step}: the shares of user {user}'s give no {what}; some user sent wrong ones")
            secret_of[user] = secret
        return secret_of

    def _is_opening(self, user: int, opening: bytes) -> bool:
        return commitment_to(opening, self._context.run, self._number, user) == self._keys[user].commitment

    def _spoiled(self, stage: str, user: int, text: str) -> NoReturn:
        """What user `user` shared out does not fit what it said: this call is lost, and the user is to blame first."""
        error = SpoiledSumError(text)
        self._context.exchange.refuse(stage, user, error)
        raise error

    def _require(self, stage: str, users: Collection[int]) -> None:
        """After MASK the sum is made; it takes t users to open it."""
        require_users(stage, len(users), len(self._joined), self._threshold)


def _check_mask_key(user: int, reply: MaskKey, step: str) -> None:
    del user
    _require_size(reply.key, KEY_BYTES, step, "mask key")
    _require_size(reply.commitment, KEY_BYTES, step, "commitment")


def _require_size(data: bytes | memoryview, wanted: int, step: str, what: str) -> None:
    if len(data) != wanted:
        raise MessageError(f"{step}: found {what} of {len(data)} bytes, wanted {wanted}")
