"""A user of `masks` or `bcp`: which message may come next. What is answered to it is in user_call.py."""

from collections.abc import Callable
from typing import Any, TypeAlias

from vfxgb.errors import MessageError, ParameterError
from vfxgb.secagg.base import JOIN, SETUP, AggregatorParams, UserContext
from vfxgb.secagg.double_mask.messages import (
    CallOpened,
    Hello,
    KeyDirectory,
    MaskRequest,
    PeerCiphertexts,
    Ready,
    RecoverRequest,
    ShareRequest,
    SignRequest,
    UnmaskRequest,
)
from vfxgb.secagg.double_mask.modes import UserMasking
from vfxgb.secagg.double_mask.peers import Peers
from vfxgb.secagg.double_mask.user_call import UserCall
from vfxgb.secagg.guard import GuardRules, SetGuard
from vfxgb.transport.messages import Message

# What follows the opening of a call, each once and in this order, and what answers it.
StageRequest: TypeAlias = ShareRequest | MaskRequest | SignRequest | UnmaskRequest | RecoverRequest
_ANSWERS: dict[type[Message], Callable[[UserCall, Any], Message]] = {
    ShareRequest: UserCall.share,
    MaskRequest: UserCall.mask,
    SignRequest: UserCall.sign,
    UnmaskRequest: UserCall.unmask,
    RecoverRequest: UserCall.recover,
}
_SET_UP = (Hello, KeyDirectory, PeerCiphertexts)
MAX_CALL = 2**63 - 1


class DoubleMaskUser:
    """A UserRole. A message out of order, or one that fails a check, ends the call for this user.

    The server may begin the set-up again, where users were started anew: with keys that have nothing in common with
    those before. Numbers of calls go on.
    """

    def __init__(self, context: UserContext, masking: Callable[[UserContext], UserMasking]) -> None:
        require_two_users(context.params)
        self._context = context
        self._masking = masking(context)
        self._peers = Peers(context)
        self._guard = context.guard or SetGuard(GuardRules.default(len(context.directory)))
        self._set_up: list[type[Message]] = list(_SET_UP)
        self._last_call = self._guard.last_call
        self._call: UserCall | None = None
        self._expected: tuple[type[Message], ...] = ()

    def handle(self, message: Message) -> Message:
        """See UserRole."""
        if isinstance(message, Hello | KeyDirectory | PeerCiphertexts):
            return self._answer_set_up(message)
        call, expected = self._call, self._expected
        # Whatever fails from here on leaves no call behind: the server gets one attempt.
        self._call = None
        if isinstance(message, CallOpened):
            return self._open_call(message)
        if call is None or not expected or not isinstance(message, StageRequest) or type(message) is not expected[0]:
            wanted = expected[0].TAG if call is not None and expected else CallOpened.TAG
            raise MessageError(f"user {self._context.user}: found message {message.TAG!r}, wanted {wanted!r}")
        if message.call != call.number:
            raise MessageError(
                f"user {self._context.user}: found message {message.TAG!r} of call {message.call}, wanted call "
                f"{call.number}"
            )
        reply = _ANSWERS[type(message)](call, message)
        self._call, self._expected = call, expected[1:]
        return reply

    def _answer_set_up(self, message: Hello | KeyDirectory | PeerCiphertexts) -> Message:
        step = f"user {self._context.user}, {SETUP}"
        if isinstance(message, Hello) and self._set_up != list(_SET_UP):
            self._peers = Peers(self._context)
            self._set_up, self._call = list(_SET_UP), None
        if not self._set_up or not isinstance(message, self._set_up[0]):
            raise MessageError(f"{step}: found message {message.TAG!r} a second time or out of order")
        if isinstance(message, Hello):
            self._masking.read_server_key(message.server_key)
            reply: Message = self._peers.own_key()
        elif isinstance(message, KeyDirectory):
            reply = self._peers.accept(message, step)
        else:
            reply = Ready(n_users=self._peers.open(message, step))
        self._set_up.pop(0)
        return reply

    def _open_call(self, message: CallOpened) -> Message:
        step = f"user {self._context.user}, stage {JOIN!r}"
        if self._set_up:
            raise MessageError(f"{step}: a call is opened before the keys and ciphertexts of all users came")
        if not self._last_call < message.call <= MAX_CALL:
            raise MessageError(
                f"{step}: found call number {message.call}, wanted one above {self._last_call}; a number is used once"
            )
        self._last_call = message.call
        self._call = UserCall(self._context, self._masking, self._peers, self._guard, message.call)
        self._expected = tuple(_ANSWERS)
        return self._call.join()


def require_two_users(params: AggregatorParams) -> None:
    """Raise ParameterError if the sum over a single user could be asked for."""
    if params.min_users < 2:
        raise ParameterError(
            f"reading parameters: found min_users={params.min_users}, wanted at least 2: the sum over one user is its "
            "vector"
        )
