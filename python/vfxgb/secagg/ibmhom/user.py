"""A user of `ibmhom`: it encrypts its vector, and helps to open what the server sends it."""

from vfxgb.errors import MessageError
from vfxgb.secagg.base import UserContext
from vfxgb.secagg.ibmhom.messages import EncryptedVector, EncryptTask, PartialDecryptions, SumToOpen
from vfxgb.secagg.ibmhom.noise import add_noise, user_sigma
from vfxgb.secagg.ibmhom.threshold import KeyShare, read_key
from vfxgb.secagg.one_message import own_vector
from vfxgb.secagg.slots import join_entries, slots_of
from vfxgb.transport.messages import Message, pack_bytes


class IbmhomUser:
    """A UserRole. It answers each kind of request once per call, with rising call numbers."""

    def __init__(self, context: UserContext) -> None:
        self._context = context
        self._key = read_key(context.public, context.params.insecure)
        self._share = KeyShare.from_bytes(context.secret)
        self._encrypted = self._opened = 0

    def handle(self, message: Message) -> Message:
        """The encrypted vector, or partial decryptions."""
        if isinstance(message, EncryptTask):
            return self._encrypt(message)
        if isinstance(message, SumToOpen):
            return self._open(message)
        raise MessageError(f"{self._name}: found message {message.TAG!r}, wanted one of ibmhom's")

    @property
    def _name(self) -> str:
        return f"user {self._context.user}"

    def _encrypt(self, message: EncryptTask) -> EncryptedVector:
        self._encrypted = self._after(message.call, self._encrypted, "making its vector")
        params = self._context.params
        values = own_vector(self._context, message.task, message.n_entries)
        values = add_noise(values, user_sigma(params.noise_sigma, params.min_users))
        plaintexts = join_entries(values, slots_of(params.slots, self._key.key.bits))
        ciphertexts = self._key.key.encrypt(plaintexts, self._context.threads)
        return EncryptedVector(message.call, pack_bytes(ciphertexts.to_bytes(self._context.threads)))

    def _open(self, message: SumToOpen) -> PartialDecryptions:
        self._opened = self._after(message.call, self._opened, "opening a sum")
        threads = self._context.threads
        ciphertexts = self._key.read(message.ciphertexts, f"{self._name}, opening a sum", threads)
        parts = self._share.open_partly(self._key, ciphertexts, threads)
        return PartialDecryptions(message.call, pack_bytes(parts.to_bytes(threads)))

    def _after(self, call: int, last: int, step: str) -> int:
        """The call. Users that were not asked for a vector help too, so calls may be skipped but never repeated."""
        if call <= last:
            raise MessageError(f"{self._name}, {step}: found call {call}, wanted one after {last}")
        return call
