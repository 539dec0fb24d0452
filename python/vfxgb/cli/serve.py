"""`vfxgb serve`: a passive party, or a user, that answers until it is stopped."""

import argparse
import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from vfxgb.cli.exits import INTERRUPTED, OK
from vfxgb.cli.output import interrupt
from vfxgb.cli.parser import Commands, add_config

if TYPE_CHECKING:
    from vfxgb.party.config import PartyConfig
    from vfxgb.party.logs import Log


def add(commands: Commands) -> None:
    """Add `serve` to the commands."""
    parser = commands.add_parser(
        "serve",
        help="take part in runs as a passive party or a user",
        description="Listens and answers what [consent] of the configuration allows; goes on after a run that failed. "
        "Stop it with ctrl-C or SIGTERM: a run under way can be resumed when it serves again. SIGHUP makes it read its "
        "configuration and certificates again; what is wrong with them is logged, and the old ones stay in use. The "
        "log is log.jsonl in the party's folder, and shown here. With role user: takes part in the server's next run, "
        "then ends.",
    )
    add_config(parser)
    parser.add_argument("--quiet", action="store_true", help="show nothing; the log is written all the same")
    parser.add_argument("--dry-run", action="store_true", help="read and check everything, then stop")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal."""
    from vfxgb.party.config import load_config
    from vfxgb.party.logs import Log

    config = load_config(arguments.config)
    log = Log.of(config, None if arguments.quiet else sys.stderr)
    return _take_part(arguments, config, log) if config.role == "user" else _serve(arguments, config, log)


def _take_part(arguments: argparse.Namespace, config: "PartyConfig", log: "Log") -> int:
    from vfxgb.party.user import UserParty

    user = UserParty(config, log)
    if arguments.dry_run:
        print(user.describe())
    else:
        signal.signal(signal.SIGTERM, interrupt)
        user.run()
    return OK


def _serve(arguments: argparse.Namespace, config: "PartyConfig", log: "Log") -> int:
    from vfxgb.party.serve import Server

    server = Server(config, log)
    if arguments.dry_run:
        rows = server.party.table("train").table
        print(f"{config.party} would serve {rows.n_rows:,} rows and {len(rows.names)} features at {config.listen}")
        return OK
    stop = threading.Event()
    code = OK

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a signal handler
        nonlocal code
        code = INTERRUPTED if number == signal.SIGINT else OK
        stop.set()

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGHUP, lambda *_: server.ask_reload())
    if not server.run(stop):
        # A thread is deep in a computation; what it has kept is on disk, whole.
        os._exit(code)
    return code
