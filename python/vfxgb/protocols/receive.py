"""What roles do with every message they get: wait for it, and refuse one that is about something else."""

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

from vfxgb.contract import ActiveContext, ActiveLevel, PassiveContext, PassiveLevel
from vfxgb.errors import MessageError
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Message

M = TypeVar("M", bound=Message)

Context: TypeAlias = ActiveContext | PassiveContext


def receive(context: Context, channel: Channel, kind: type[M], what: str, /, **wanted: object) -> M:
    """The next message, a `kind` whose fields have the values `wanted`. The time until it comes counts as "wait".

    Raises MessageError that begins with `what`, which says who reads what.
    """
    with context.timings.phase("wait"):
        message = channel.recv(kind)
    require_fields(message, what, **wanted)
    return message


def receive_level(context: Context, channel: Channel, kind: type[M], what: str, level: ActiveLevel | PassiveLevel) -> M:
    """The same for a message about a level: it is of that round and depth, and its `trees` are those of the level."""
    message = receive(context, channel, kind, what)
    about: Any = message
    actual = {"round": about.round, "depth": about.depth, "trees": [part.tree for part in about.trees]}
    wanted = {"round": level.round, "depth": level.depth, "trees": [nodes.tree for nodes in level.trees]}
    require(what, _words(actual), _words(wanted))
    return message


def require_fields(message: Message, what: str, /, **wanted: object) -> None:
    """Raise MessageError unless the fields of a message have the values `wanted`."""
    actual = {name: getattr(message, name) for name in wanted}
    # The values are compared and not their words, which show the first digits of a key only.
    if actual != wanted:
        raise MessageError(f"{what}: found {_words(actual)}, wanted {_words(wanted)}")


def require(what: str, actual: str, wanted: str) -> None:
    """Raise MessageError unless two descriptions, of what was found and of what was wanted, are the same."""
    if actual != wanted:
        raise MessageError(f"{what}: found {actual}, wanted {wanted}")


def _words(values: Mapping[str, object]) -> str:
    """Names with their values; of a key the first digits of its fingerprint."""
    shown = {name: value.hex()[:16] if isinstance(value, bytes) else value for name, value in values.items()}
    return ", ".join(f"{name} {value}" for name, value in shown.items())
