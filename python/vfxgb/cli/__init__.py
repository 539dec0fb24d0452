"""The `vfxgb` command.

Exit codes: 0 done, 1 a check failed (demo), 2 a mistake of the user, 130 interrupted. A mistake is one line on
stderr, never a traceback.
"""

import sys
from collections.abc import Sequence

from vfxgb.cli.arguments import build_parser
from vfxgb.cli.parser import UsageError
from vfxgb.errors import VfxgbError

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments (sys.argv by default) and return its exit code."""
    try:
        arguments = build_parser().parse_args(argv)
        code: int = arguments.run(arguments)
    except (UsageError, VfxgbError, OSError) as error:
        print(f"vfxgb: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("vfxgb: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    return code
