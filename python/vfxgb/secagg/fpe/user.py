"""A user of `fpe`: one message per call."""

from vfxgb.errors import MessageError
from vfxgb.secagg.base import UserContext
from vfxgb.secagg.fpe.messages import FunctionalTask, FunctionalVector
from vfxgb.secagg.fpe.scheme import Seeds, read_scheme
from vfxgb.secagg.one_message import own_vector
from vfxgb.secagg.slots import join_entries, slots_of
from vfxgb.transport.messages import Message, pack_array


class FpeUser:
    """A UserRole. It never uses a pad twice: the second ciphertext would show the difference of two plaintexts."""

    def __init__(self, context: UserContext) -> None:
        self._context = context
        self._scheme = read_scheme(context.public, context.params.insecure)
        self._seeds = Seeds.from_bytes(context.secret)
        self._unused = 0

    def handle(self, message: Message) -> Message:
        """Return the encrypted vector."""
        name, params, threads = f"user {self._context.user}", self._context.params, self._context.threads
        if not isinstance(message, FunctionalTask):
            raise MessageError(f"{name}: found message {message.TAG!r}, wanted {FunctionalTask.TAG!r}")
        if message.first < self._unused:
            raise MessageError(
                f"{name}, making its vector: the server asks for pad {message.first}, wanted {self._unused} or a later "
                "one; the others have been used"
            )
        values = own_vector(self._context, message.task, message.n_entries)
        plaintexts = join_entries(values, slots_of(params.slots, self._scheme.group.bits))
        self._unused = message.first + len(plaintexts)
        if self._unused > params.prepared:
            raise MessageError(
                f"{name}, making its vector: the server asks for pad {self._unused - 1}, wanted less than "
                f"prepared={params.prepared}"
            )
        keys = self._scheme.keys(self._seeds.keys, len(plaintexts))
        pads = self._scheme.pads([self._seeds.pads], message.first, len(plaintexts), threads)
        blinder, ciphertexts = self._scheme.encrypt(plaintexts, keys, pads, threads)
        return FunctionalVector(message.call, blinder, pack_array(ciphertexts))
