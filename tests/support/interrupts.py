"""Commands that ctrl-C can end, whoever runs the tests.

In the background of a shell SIGINT is ignored, and children inherit that. They are given it back by a process of their
own: a `preexec_fn` would run after a fork, and gRPC's threads in the process of the tests do not stand forks.
"""

import sys

_LAUNCH = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


def interruptible(*arguments: str) -> list[str]:
    """The command that runs this Python with `arguments`, and ends it on SIGINT."""
    return [sys.executable, "-c", _LAUNCH, sys.executable, *arguments]
