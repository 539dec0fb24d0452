"""Exit codes of the `vfxgb` command, in one table; docs/commands.md shows the same."""

import errno

from vfxgb.cli.parser import UsageError
from vfxgb.errors import (
    AggregationError,
    ChannelClosedError,
    ConsentError,
    FrameError,
    MessageError,
    PeerError,
    VfxgbError,
)
from vfxgb.transport.link import LinkClosed, LinkTimeout

OK = 0
BUG = 1
USAGE = 2
PEER = 3
REFUSED = 4
DISK = 5
INTERRUPTED = 130

MEANING = {
    OK: "done",
    BUG: "a bug, with a traceback; or a check of demo or a script of bench failed",
    USAGE: "a mistake in arguments, configuration or data",
    PEER: "another party or the network failed; a run can be resumed",
    REFUSED: "another party does not agree to what was asked",
    DISK: "the disk is full or cannot be written",
    INTERRUPTED: "ctrl-C; a run can be resumed",
}
_DISK_ERRORS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG))


def exit_code(error: BaseException) -> int | None:
    """The code of an error that is no bug, None for one that is."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, ConsentError):
        return REFUSED
    if isinstance(
        error, (AggregationError, PeerError, ChannelClosedError, FrameError, MessageError, LinkClosed, LinkTimeout)
    ):
        return PEER
    if isinstance(error, (UsageError, VfxgbError)):
        return USAGE
    if isinstance(error, OSError):
        return DISK if error.errno in _DISK_ERRORS else USAGE
    return None


def table() -> str:
    """The codes for `vfxgb --help`."""
    return "exit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANING.items())
