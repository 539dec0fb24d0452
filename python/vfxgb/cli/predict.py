"""`vfxgb predict`: scores of a file, or an endpoint that scores."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vfxgb.cli.exits import OK
from vfxgb.cli.output import tell, teller, warn_of_damage
from vfxgb.cli.parser import Commands, UsageError, add_config
from vfxgb.cli.predict_serve import add_serve_options, hidden_if, need_no_options, serve_scores

if TYPE_CHECKING:
    from vfxgb.party.config import PartyConfig


def add(commands: Commands) -> None:
    """Add `predict` to the commands."""
    parser = commands.add_parser(
        "predict",
        help="score a file of rows, with the other parties where the model needs them",
        description="Scores the rows of a file with all parties of a model. The output has the ids of the input in "
        "their order; the score is empty where a party does not have the row, in all rows if they have none in common. "
        "Rows are matched by private set intersection; with --lookup the passive parties see which ids are asked for, "
        "which is faster for few rows. A user and a server of users hold the whole model: they score rows of their own "
        "and ask nobody.",
    )
    add_config(parser)
    what = "rows to score: .csv, .csv.gz, .parquet, or a folder of .parquet files"
    parser.add_argument("input", metavar="IN", type=Path, nargs="?", help=what)
    parser.add_argument("output", metavar="OUT", type=Path, nargs="?", help="scores: .csv or .parquet")
    parser.add_argument("--model", metavar="RUN", default="latest", help="the run that made the model (%(default)s)")
    parser.add_argument("--lookup", action="store_true", help="look ids up instead of aligning")
    what = "passive parties do not learn which of their splits a row reaches (slower; also hidden in [predict])"
    parser.add_argument("--hidden", action="store_true", help=what)
    parser.add_argument("--serve", action="store_true", help="score rows on request over HTTP (ids are looked up)")
    add_serve_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="read and check everything, then stop")
    parser.add_argument("--quiet", action="store_true", help="say nothing but mistakes")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Score, and say how many."""
    from vfxgb.cli.train_progress import make_progress
    from vfxgb.party.config import load_config
    from vfxgb.party.folder import PartyFolder
    from vfxgb.party.logs import Log
    from vfxgb.party.predict import Matching, Predictor, check_output, write_scores

    if arguments.serve:
        return serve_scores(arguments)
    need_no_options(arguments)
    if arguments.input is None or arguments.output is None:
        raise UsageError("vfxgb predict: wanted a file of rows and a file for the scores; see vfxgb predict --help")
    config = hidden_if(arguments.hidden, load_config(arguments.config))
    check_output(arguments.output)
    warn_of_damage(PartyFolder(config.folder))
    if config.role in ("user", "server"):
        return _score_alone(arguments, config)
    predictor = Predictor(config, Log.of(config), arguments.model, teller(arguments.quiet))
    if arguments.dry_run:
        ids, _ = predictor.read(arguments.input)
        print(f"{config.party} would ask {', '.join(predictor.share.parties[1:])} to score {len(ids):,} rows")
        return OK
    shown = make_progress(int)
    try:
        matching: Matching = "lookup" if arguments.lookup else "psi"
        scores = predictor.run(arguments.input, matching, None if arguments.quiet else shown.step)
    finally:
        shown.stop()
    write_scores(arguments.output, scores, config.data.id)
    if not arguments.quiet:
        count = len(scores.ids) - scores.missing
        print(f"scored {count:,} of {len(scores.ids):,} rows, {scores.bytes:,} bytes: {arguments.output}")
        if not count:
            others = ", ".join(predictor.share.parties[1:])
            tell(
                f"no row of {arguments.input} is at all of {config.party}, {others}, so every score is empty; compare "
                "the id columns and the normalisation of all parties if that is not meant"
            )
        elif scores.missing:
            tell(f"{scores.missing:,} rows are not at all parties and have no score")
        if scores.hint:
            tell(scores.hint)
    return OK


def _score_alone(arguments: argparse.Namespace, config: "PartyConfig") -> int:
    """A user, or a server of users, scores with the model it has."""
    from vfxgb.party.logs import Log
    from vfxgb.party.own_model import OwnModel
    from vfxgb.party.predict import write_scores

    for option in ("lookup", "hidden"):
        if getattr(arguments, option):
            raise UsageError(
                f"vfxgb predict: --{option} is about other parties, and role {config.role} has the whole model"
            )
    model = OwnModel(config, Log.of(config), arguments.model)
    if arguments.dry_run:
        _, ids, _ = model.read(arguments.input)
        print(
            f"{config.party} would score {len(ids):,} rows with the model of run {model.share.run[:8]}, asking nobody"
        )
        return OK
    name, scores = model.run(arguments.input)
    write_scores(arguments.output, scores, name)
    if not arguments.quiet:
        print(f"scored {len(scores.ids):,} rows: {arguments.output}")
    return OK
