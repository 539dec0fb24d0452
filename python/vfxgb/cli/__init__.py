"""The `vfxgb` command. A mistake is one line on stderr, never a traceback; exit codes are in exits.py."""

import sys
from collections.abc import Sequence

from vfxgb.cli.arguments import build_parser
from vfxgb.cli.exits import INTERRUPTED, exit_code


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments (sys.argv by default) and return its exit code."""
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = build_parser(given[0] if given else "").parse_args(given)
        code: int = arguments.run(arguments)
    except (Exception, KeyboardInterrupt) as error:
        found = exit_code(error)
        if found is None:
            raise
        print(f"vfxgb: {'interrupted' if found == INTERRUPTED else error}", file=sys.stderr)
        return found
    return code
