"""`vfxgb train`: the active party trains with those that serve; or the server of many users does."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from vfxgb.cli.exits import OK
from vfxgb.cli.parser import Commands, seconds


def add(commands: Commands) -> None:
    """Add `train` to the commands."""
    parser = commands.add_parser(
        "train",
        help="train a model with the other parties",
        description="Dials the passive parties, finds the rows that all have, trains, and writes this party's share of "
        "the model and a record of the run to the party's folder. A party that is lost is waited for (resume_seconds); "
        "a run that ended early is resumed with --resume.",
    )
    parser.add_argument("config", metavar="PARTY.toml", type=Path)
    parser.add_argument(
        "--resume", metavar="RUN", nargs="?", const="latest", default=None, help="go on with this run (the latest)"
    )
    parser.add_argument("--wait", type=seconds, default=0.0, metavar="SECONDS", help="for parties to be there (0)")
    parser.add_argument("--dry-run", action="store_true", help="read and check everything, say what would be asked")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, and say how it went."""
    from vfxgb.cli.train_progress import make_progress
    from vfxgb.cli.users import train_users
    from vfxgb.party.config import load_config
    from vfxgb.party.folder import PartyFolder
    from vfxgb.party.logs import Log
    from vfxgb.party.train import Trainer

    config = load_config(arguments.config)
    if config.role == "server":
        return train_users(config, arguments)
    log = Log(PartyFolder(config.folder).make().log_file)
    tell = _silent if arguments.quiet else _tell
    trainer = Trainer(config, log, arguments.resume, arguments.wait, tell)
    if arguments.dry_run:
        request = trainer.request
        print(
            f"{config.party} would ask {', '.join(config.peers)} for {request.n_trees} trees of depth "
            f"{request.max_depth} by {request.protocol} for {config.purpose!r}, with "
            f"{trainer.train.table.n_rows:,} rows and {trainer.train.table.n_features} features of its own"
        )
        return OK
    if not arguments.quiet:
        trainer.callbacks, trainer.progress = make_progress(trainer.total_bytes)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        record = trainer.run()
    except BaseException:
        if trainer.folder.rows_file.exists():
            print(f"vfxgb: resume with: vfxgb train {arguments.config} --resume {trainer.run_id[:8]}", file=sys.stderr)
        raise
    print(f"trained {record.rounds} rounds in {record.seconds:.1f} s; run {record.run}")
    for name, metrics in record.evals.items():
        print(f"  {name}: " + ", ".join(f"{metric} {values[-1]:.5f}" for metric, values in metrics.items() if values))
    print(f"share of the model: {trainer.folder.share_file}")
    print(f"what the run revealed: vfxgb report {trainer.folder.path}")
    return OK


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a signal handler
    raise KeyboardInterrupt


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _silent(line: str) -> None:  # noqa: ARG001 - stands in for _tell
    return
