"""`vfxgb train`: the active party trains with those that serve; or the server of many users does."""

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vfxgb.cli.exits import OK
from vfxgb.cli.output import interrupt, tell, teller, warn_of_damage
from vfxgb.cli.parser import Commands, add_config, port, seconds

if TYPE_CHECKING:
    from vfxgb.party.config import PartyConfig
    from vfxgb.party.folder import RunFolder
    from vfxgb.party.logs import Log
    from vfxgb.party.record import RunRecord


def add(commands: Commands) -> None:
    """Add `train` to the commands."""
    parser = commands.add_parser(
        "train",
        help="train a model with the other parties",
        description="Dials the passive parties, finds the rows that all have, trains, and writes this party's share of "
        "the model and a record of the run to the party's folder. A party that is lost is waited for (resume_seconds); "
        "a run that ended early is resumed with --resume. With role server: waits for users and trains with them.",
    )
    add_config(parser)
    parser.add_argument(
        "--resume", metavar="RUN", nargs="?", const="latest", default=None, help="go on with this run (the latest)"
    )
    parser.add_argument("--wait", type=seconds, default=0.0, metavar="SECONDS", help="for parties to be there (0)")
    parser.add_argument(
        "--live",
        metavar="PORT",
        nargs="?",
        type=port,
        const=0,
        default=None,
        help="show the run in a browser of this machine while it goes on, at this port (one that is free)",
    )
    parser.add_argument("--dry-run", action="store_true", help="read and check everything, say what would be asked")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, and say how it went."""
    from vfxgb.party.config import load_config
    from vfxgb.party.logs import Log

    config = load_config(arguments.config)
    log = Log.of(config)
    signal.signal(signal.SIGTERM, interrupt)
    if config.role == "server":
        return _train_users(arguments, config, log)
    return _train(arguments, config, log)


def _train(arguments: argparse.Namespace, config: "PartyConfig", log: "Log") -> int:
    from vfxgb.cli.train_progress import make_progress
    from vfxgb.party.folder import PartyFolder
    from vfxgb.party.train import Trainer

    if arguments.resume is not None:
        warn_of_damage(PartyFolder(config.folder))
    trainer = Trainer(config, log, arguments.resume, arguments.wait, teller(arguments.quiet))
    if arguments.dry_run:
        print(trainer.describe())
        return OK
    left = PartyFolder(config.folder).unfinished()
    if left and arguments.resume is None and not arguments.quiet:
        tell(f"this is a new run; run {left[0].run[:8]} is unfinished: --resume {left[0].run[:8]} goes on with it")
    shown = None if arguments.quiet else make_progress(trainer.total_bytes)
    if shown is not None:
        trainer.callbacks, trainer.progress = [shown], shown.step
    with _live(arguments.live) as watch:
        watch(trainer.folder)
        try:
            record = trainer.run()
        except BaseException:
            if shown is not None:
                shown.stop()
            if trainer.can_resume:
                tell(f"vfxgb: resume with: vfxgb train {arguments.config} --resume {trainer.run_id[:8]}")
            raise
        _print(record, trainer.folder)
    return OK


def _train_users(arguments: argparse.Namespace, config: "PartyConfig", log: "Log") -> int:
    from vfxgb.cli.train_progress import make_progress
    from vfxgb.party.folder import PartyFolder
    from vfxgb.party.users_server import UsersServer

    server = UsersServer(config, log, teller(arguments.quiet), arguments.resume)
    if arguments.dry_run:
        print(server.describe())
        return OK
    shown = make_progress(server.total_bytes)
    server.callbacks = [] if arguments.quiet else [shown]
    with _live(arguments.live) as watch:
        server.begun = watch
        try:
            record = server.run(lambda address: tell(f"listening at {address}"))
        except BaseException:
            if server.can_resume:
                tell(f"vfxgb: resume with: vfxgb train {arguments.config} --resume {server.run_id[:8]}")
            raise
        finally:
            shown.stop()
        _print(record, PartyFolder(config.folder).run(record.run))
    return OK


@contextmanager
def _live(at: int | None) -> Iterator[Callable[["RunFolder"], None]]:
    """Serve the live view at this port, if there is to be one, until its viewers know how the run ended.

    What is given takes the folder of the run to show.
    """
    if at is None:
        yield lambda folder: None  # noqa: ARG005 - nobody looks
        return
    from vfxgb.report.live import LiveView

    with LiveView(at, tell) as view:
        tell(f"live view: {view.url}")
        yield view.watch


def _print(record: "RunRecord", folder: "RunFolder") -> None:
    from vfxgb.report.document import make_document, read_ledger

    print(f"trained {record.rounds} rounds in {record.seconds:.1f} s; run {record.run}")
    if record.best_iteration is not None:
        print(record.early_stopping())
    for name, metrics in record.headline().items():
        print(f"  {name}: " + ", ".join(f"{metric} {value:.5f}" for metric, value in metrics.items()))
    print(f"model: {folder.path / record.model}")
    for sentence in make_document(record, read_ledger(folder), None)["verdict"]:
        print(sentence)
    print(f"all that the run revealed: vfxgb report {folder.path}")
