"""A user of `plain`: it shows its vector."""

from vfxgb.errors import MessageError
from vfxgb.secagg.base import UserContext
from vfxgb.secagg.one_message import own_vector
from vfxgb.secagg.plain.messages import PlainTask, PlainVector
from vfxgb.transport.messages import Message, pack_array


class PlainUser:
    """A UserRole without any protection."""

    def __init__(self, context: UserContext) -> None:
        self._context = context

    def handle(self, message: Message) -> Message:
        """The vector that was asked for."""
        if not isinstance(message, PlainTask):
            raise MessageError(f"user {self._context.user}: found message {message.TAG!r}, wanted {PlainTask.TAG!r}")
        values = own_vector(self._context, message.task, message.n_entries)
        return PlainVector(call=message.call, values=pack_array(values))
