"""One call at a user: what it sends at every stage, and what it checks before it does.

The server is not trusted. Whatever it says of a call is either checked here against what this user knows, or signed and
compared with what other users were told (lists.py) before anything is opened.
"""

from dataclasses import replace

import numpy as np

from vfxgb.crypto.key_agreement import sign
from vfxgb.crypto.key_batches import Rows
from vfxgb.errors import InvalidCiphertextError, InvalidKeyError, MessageError, ParameterError
from vfxgb.secagg.base import MASK, RECOVER, SHARE, SIGN, UNMASK, UserContext, threshold_of
from vfxgb.secagg.double_mask.messages import (
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
from vfxgb.secagg.double_mask.modes import UserMasking
from vfxgb.secagg.double_mask.peers import Peers
from vfxgb.secagg.double_mask.shares import (
    RECORD_BYTES,
    SEALED_BYTES,
    CallSecrets,
    PairKeys,
    commitment_to,
    pair_keys,
    record_parts,
    seal_kept,
    vector_context,
)
from vfxgb.secagg.guard import SetGuard
from vfxgb.secagg.lists import Statement, check_signatures, read_users, require_within, task_digest
from vfxgb.transport.messages import Bulk, pack_array, pack_bytes, unpack_array


class UserCall:
    """The state of a call. Its methods are called once each, in the order of the stages."""

    def __init__(self, context: UserContext, masking: UserMasking, peers: Peers, guard: SetGuard, call: int) -> None:
        self.number = call
        self._guard = guard
        self._context = context
        self._masking = masking
        self._peers = peers
        self._secrets = CallSecrets()
        self._vector_context = vector_context(context.run, call)
        self._opening = masking.opening(self._secrets.seed, self._vector_context)
        self._threshold = 0
        self._joined: tuple[int, ...] = ()
        self._others: tuple[int, ...] = ()  # who else shared; rows of the next two go with it
        self._key_shares: Rows = np.empty((0, 0), np.uint8)
        self._seed_shares: Rows = np.empty((0, 0), np.uint8)
        self._task: Bulk = pack_bytes(b"")
        self._statement: Statement | None = None

    def join(self) -> MaskKey:
        """A fresh mask key."""
        commitment = commitment_to(self._opening, self._context.run, self.number, self._context.user)
        return MaskKey(call=self.number, key=self._secrets.mask_key.public, commitment=commitment)

    def share(self, request: ShareRequest) -> SealedShares:
        """Shares of both secrets, for everybody who joined."""
        step = self._step(SHARE)
        users = self._list(request.users, self._peers.users, step, "users of the directory that sent their ciphertexts")
        self._check_threshold(request.threshold, len(users), step)
        self._joined, self._threshold = users, request.threshold
        records = self._secrets.records(users, self._threshold, self._context.threads)
        context = self._context
        sealed = [
            self._peers.seal_for(peer, self.number, record.tobytes())
            for peer, record in zip(users, records, strict=True)
            if peer != context.user
        ]
        secrets = self._peers.mask_secrets([peer for peer in users if peer != context.user], self.number)
        kept = seal_kept(self._secrets.mask_seed, secrets, context.run, self.number, context.user)
        return SealedShares(call=self.number, sealed=pack_bytes(b"".join(sealed)), kept=pack_bytes(kept))

    def mask(self, request: MaskRequest) -> MaskedVector:
        """The vector, masked with everybody who shared."""
        step = self._step(MASK)
        context = self._context
        shared = self._list(request.users, self._joined, step, "users who joined the call")
        self._require_enough(len(shared), step)
        self._task = request.task
        self._guard.begin(self.number)
        self._guard.hear(step, self._task, shared, self._threshold)
        self._others = tuple(user for user in shared if user != context.user)
        public_keys = self._open_records(request, step)
        pairs = self._pair_keys(public_keys, step)
        values = np.ascontiguousarray(context.inputs(request.task), dtype=np.int64)
        if values.shape != (request.n_entries,):
            raise MessageError(
                f"{step}: the server asks for {request.n_entries} entries, the task gives an array of shape "
                f"{values.shape}"
            )
        self._statement = Statement(
            run=context.run,
            call=self.number,
            threshold=self._threshold,
            n_entries=request.n_entries,
            joined=self._joined,
            shared=shared,
            survivors=(),
            task=task_digest(request.task),
        )
        masked = self._masking.mask(values, self._vector_context, self._secrets.seed, pairs)
        return MaskedVector(call=self.number, values=masked)

    def sign(self, request: SignRequest) -> Signed:
        """A signature of what this user was told: of one list of survivors per call."""
        step = self._step(SIGN)
        before = self._known_statement()
        survivors = self._list(request.users, before.shared, step, "users who shared their keys")
        self._require_enough(len(survivors), step)
        self._guard.admit(step, self._task, survivors)
        self._statement = statement = replace(before, survivors=survivors)
        return Signed(call=self.number, signature=sign(self._context.identity, statement.signed_bytes()))

    def unmask(self, request: UnmaskRequest) -> Unmasking:
        """What takes this user's own mask off, and its shares of the mask keys of those who are no survivors."""
        step = self._step(UNMASK)
        statement = self._known_statement()
        signers = read_users(request.users, step)
        context = self._context
        check_signatures(statement, signers, request.signatures, context.directory, context.verify, step)
        absent = np.isin(self._others, statement.survivors, invert=True)
        return Unmasking(call=self.number, opening=self._opening, key_shares=pack_array(self._key_shares[absent]))

    def recover(self, request: RecoverRequest) -> SeedShares:
        """Shares of the seeds of survivors that have left: nobody's whose mask key was given away."""
        step = self._step(RECOVER)
        missing = read_users(request.users, step)
        others = set(self._others).intersection(self._known_statement().survivors)
        require_within(missing, others, step, "other users whose vectors are in the sum")
        return SeedShares(call=self.number, shares=pack_array(self._seed_shares[np.isin(self._others, missing)]))

    def _step(self, stage: str) -> str:
        return f"user {self._context.user}, call {self.number}, stage {stage!r}"

    def _list(
        self, data: memoryview, known: tuple[int, ...] | frozenset[int], step: str, wanted: str
    ) -> tuple[int, ...]:
        users = read_users(data, step)
        require_within(users, known, step, wanted)
        if self._context.user not in users:
            raise MessageError(f"{step}: found a list without this user, wanted one with it")
        return users

    def _check_threshold(self, threshold: int, n_users: int, step: str) -> None:
        """A smaller one than this user's own parameters give would let fewer users open the sum."""
        try:
            least = threshold_of(self._context.params.threshold, n_users)
        except ParameterError as error:
            raise MessageError(f"{step}: with {n_users} users in the list, {error}") from None
        if not least <= threshold <= n_users:
            raise MessageError(
                f"{step}: the server wants threshold {threshold} for {n_users} users, this user at least {least} and "
                "at most all of them"
            )

    def _require_enough(self, n_users: int, step: str) -> None:
        wanted = max(self._threshold, self._context.params.min_users)
        if n_users < wanted:
            raise MessageError(f"{step}: found a list of {n_users} users, wanted at least {wanted}")

    def _open_records(self, request: MaskRequest, step: str) -> Rows:
        """Open what others sealed, keep the shares, and return their public mask keys."""
        sealed = unpack_array(request.sealed, np.uint8, (len(self._others), SEALED_BYTES), step)
        records: list[bytes] = []
        try:
            for peer, row in zip(self._others, sealed, strict=True):
                records.append(self._peers.unseal_from(peer, self.number, row.tobytes()))
        except InvalidCiphertextError as error:
            raise MessageError(f"{step}: the shares of user {self._others[len(records)]}: {error}") from None
        rows = np.frombuffer(b"".join(records), np.uint8).reshape(len(self._others), RECORD_BYTES)
        public_keys, self._key_shares, self._seed_shares = record_parts(rows)
        return public_keys

    def _pair_keys(self, public_keys: Rows, step: str) -> PairKeys:
        context, peers = self._context, self._others
        secrets = self._peers.mask_secrets(peers, self.number)
        try:
            return pair_keys(
                self._secrets.mask_key,
                context.user,
                public_keys,
                peers,
                context.run,
                self.number,
                secrets,
                context.threads,
            )
        except InvalidKeyError as error:
            raise MessageError(f"{step}: the mask key of user {peers[error.index]}: {error}") from None

    def _known_statement(self) -> Statement:
        if self._statement is None:
            raise MessageError(f"{self._step(SIGN)}: no vector was sent in this call")
        return self._statement
