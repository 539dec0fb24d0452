"""What `train` and `serve` do for the roles "server" and "user", and `certs` for users."""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from vfxgb.cli.exits import OK
from vfxgb.cli.parser import UsageError
from vfxgb.horizontal.directory import write_users
from vfxgb.party.config import PartyConfig
from vfxgb.party.folder import PartyFolder
from vfxgb.party.logs import Log
from vfxgb.party.user import UserParty
from vfxgb.party.users_server import UsersServer


def train_users(config: PartyConfig, arguments: argparse.Namespace) -> int:
    """`vfxgb train` of a server: wait for users, train with them, say how it went."""
    from vfxgb.cli.train_progress import make_progress

    if arguments.resume is not None:
        raise UsageError("vfxgb train: a run with users is not resumed, as their keys live in their processes")
    server = UsersServer(config, Log(PartyFolder(config.folder).make().log_file), _tell(arguments.quiet))
    if arguments.dry_run:
        print(server.describe())
        return OK
    if not arguments.quiet:
        server.callbacks, _ = make_progress(server.total_bytes)
    signal.signal(signal.SIGTERM, _interrupt)
    record = server.run(listening=lambda address: _tell(arguments.quiet)(f"listening at {address}"))
    print(
        f"trained {record.rounds} rounds on {record.rows['train']:,} rows in {record.seconds:.1f} s; run {record.run}"
    )
    for name, metrics in record.evals.items():
        print(f"  {name}: " + ", ".join(f"{metric} {values[-1]:.5f}" for metric, values in metrics.items() if values))
    folder = PartyFolder(config.folder).run(record.run)
    print(f"the model: {folder.share_file}")
    print(f"what the run revealed: vfxgb report {folder.path}")
    return OK


def serve_user(config: PartyConfig, arguments: argparse.Namespace) -> int:
    """`vfxgb serve` of a user: take part in one run."""
    user = UserParty(config, Log(PartyFolder(config.folder).make().log_file), _tell(arguments.quiet))
    if arguments.dry_run:
        print(user.describe())
        return OK
    signal.signal(signal.SIGTERM, _interrupt)
    record = user.run()
    print(f"took part in {record.rounds} rounds in {record.seconds:.1f} s; run {record.run}")
    return OK


def certify_users(folder: Path, parties: Sequence[str], aggregator: str) -> int:
    """Identities and the directory of users, beside their certificates."""
    path = write_users(folder, parties, aggregator)
    print(f"users  {path}, and for each its private NAME.identity; give everybody the same {path.name}")
    return OK


def _tell(quiet: bool) -> Callable[[str], None]:
    def tell(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr, flush=True)

    return tell


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a signal handler
    raise KeyboardInterrupt
