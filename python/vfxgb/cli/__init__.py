"""The `vfxgb` command. A mistake is one line on stderr, never a traceback; exit codes are in exits.py."""

import os
import sys
from collections.abc import Sequence

from vfxgb.cli.arguments import build_parser
from vfxgb.cli.exits import DISK, INTERRUPTED, OK, USAGE, exit_code
from vfxgb.printable import printable_lines


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments (sys.argv by default) and return its exit code."""
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        parser = build_parser(given[0] if given else "")
        if not given:
            parser.print_help(sys.stderr)
            return USAGE
        arguments = parser.parse_args(given)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough (`vfxgb inspect ... | head`); Python must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (Exception, KeyboardInterrupt) as error:
        status = exit_code(error)
        if status is None:
            raise
        # Some of an error's text may come from another party.
        print("vfxgb: " + ("interrupted" if status == INTERRUPTED else printable_lines(_said(error))), file=sys.stderr)
        return status
    return code


def _said(error: BaseException) -> str:
    """The error in words; of the system's errors, which file is meant and what to do about a full disk."""
    if not isinstance(error, OSError) or error.filename is None or error.strerror is None:
        return str(error)
    remedy = "; make room there" if exit_code(error) == DISK else ""
    return f"{str(error.filename)!r}: {error.strerror} (error {error.errno}){remedy}"
