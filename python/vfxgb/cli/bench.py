"""`vfxgb bench`: arguments of the measurements."""

import argparse
from pathlib import Path

from vfxgb.cli import bench_papers, bench_peers, bench_report, scale_report, train_report
from vfxgb.cli.bench_ops import BenchSettings
from vfxgb.cli.bench_train import CONFIGS, TrainSettings
from vfxgb.cli.exits import OK
from vfxgb.cli.parser import Commands, OneLineParser, positive_int
from vfxgb.cli.train_data import data_names
from vfxgb.crypto import scheme_names
from vfxgb.crypto.sizes import MAX_BITS, MIN_BITS


def add(commands: Commands) -> None:
    """Add `bench` to the commands."""
    bench = commands.add_parser("bench", help="measure speed on this machine")
    topics = bench.add_subparsers(title="topics", required=True, metavar="topic", parser_class=OneLineParser)
    ops = topics.add_parser(
        "ops",
        help="encryption, sums, decryption, against phe",
        description="Microseconds per operation, and the ratio to phe 1.5 in the same run when it is installed.",
    )
    ops.add_argument("--bits", type=key_bits, default=2048, help="key bits (%(default)s)")
    ops.add_argument("--count", type=positive_int, default=10000, help="ciphertexts per large batch (%(default)s)")
    ops.add_argument("--threads", type=thread_counts, default=(1, 2), help="comma-separated counts (1,2)")
    ops.add_argument("--schemes", type=scheme_list, default=("paillier", "ou"), help="comma-separated (paillier,ou)")
    ops.add_argument("--repeats", type=positive_int, default=5, help="measurements per operation (%(default)s)")
    ops.add_argument("--quick", action="store_true", help="a tenth of the count and two repeats, for a first look")
    ops.add_argument("--json", metavar="FILE", default=None, help="write all raw numbers to this file")
    ops.set_defaults(run=_run_ops)
    _add_train(topics)
    _add_papers(topics)
    bench_peers.add(topics)
    scale_report.add(topics)


def _add_train(topics: Commands) -> None:
    train = topics.add_parser(
        "train",
        help="encrypted training, against the cost of its arithmetic",
        description="Seconds, operations, bytes and memory per tree of encrypted training with two parties in memory, "
        "against the arithmetic alone as measured in the same run, protocol plain and xgboost. Tables come from the "
        "folder VFXGB_DATA; where it is not set, a generated table of the same shape is used. --ablation, --linear "
        "and --protocols measure other things instead.",
    )
    default = TrainSettings()
    train.add_argument("--data", choices=data_names(), default=default.data, help="(%(default)s)")
    train.add_argument("--rows", type=positive_int, default=None, help="first rows of the table (all)")
    train.add_argument(
        "--features", type=positive_int, nargs=2, metavar=("A", "P"), default=None, help="columns of synthetic data"
    )
    train.add_argument("--depth", type=positive_int, default=default.depth, help="(%(default)s)")
    train.add_argument("--bins", type=positive_int, default=default.bins, help="(%(default)s)")
    train.add_argument("--key-bits", type=positive_int, default=default.key_bits, help="(%(default)s)")
    train.add_argument("--threads", type=positive_int, default=default.threads, help="of each party (%(default)s)")
    train.add_argument("--trees", type=positive_int, default=default.trees, help="beyond the first (%(default)s)")
    train.add_argument("--configs", type=config_list, default=None, help=f"comma-separated, of {','.join(CONFIGS)}")
    train.add_argument("--ablation", action="store_true", help="one optimisation off at a time; secureboost")
    train.add_argument("--linear", action="store_true", help="growing generated tables, up to --rows (1,000,000)")
    train.add_argument(
        "--protocols",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="NAMES",
        help="comma-separated, such as plain,ldp,ldp:mechanism=laplace:epsilon=1; the first is the measure",
    )
    train.add_argument("--insecure", action="store_true", help="allow keys below 2048 bits")
    train.add_argument("--json", metavar="FILE", default=None, help="write all raw numbers to this file")
    train.set_defaults(run=_run_train)


def _add_papers(topics: Commands) -> None:
    papers = topics.add_parser(
        "papers",
        help="tables and figures of the papers, measured again",
        description="Runs the scripts that reproduce tables and figures of the papers, one after the other. Each "
        "writes Markdown, JSON and plots; papers.md lists them. Tables come from the folder VFXGB_DATA; where "
        "it is not set, generated ones of the same shape are used, and the results say so.",
    )
    papers.add_argument("names", nargs="*", metavar="NAME", help="scripts to run (all)")
    papers.add_argument("--list", action="store_true", help="print names, minutes and subjects, and run nothing")
    papers.add_argument(
        "--index", action="store_true", help="write papers.md for the results there are, and run nothing"
    )
    papers.add_argument("--quick", action="store_true", help="small sizes: all of it in a quarter of an hour")
    papers.add_argument("--threads", type=positive_int, default=None, help="of each party (2)")
    out = f"folder of the results (./{bench_papers.USER_RESULTS}; without --quick, in a source tree: docs/results)"
    papers.add_argument("--out", type=Path, metavar="DIR", default=None, help=out)
    papers.set_defaults(run=_run_papers)


def key_bits(text: str) -> int:
    """An even key size in the allowed range."""
    bits = positive_int(text)
    if bits % 2 or not MIN_BITS <= bits <= MAX_BITS:
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted an even number from {MIN_BITS} to {MAX_BITS}")
    return bits


def thread_counts(text: str) -> tuple[int, ...]:
    """A comma-separated list of positive integers, without repeats."""
    counts = tuple(positive_int(part) for part in text.split(","))
    if len(set(counts)) != len(counts):
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted every thread count once")
    return counts


def scheme_list(text: str) -> tuple[str, ...]:
    """A comma-separated list of scheme names, without repeats."""
    names = tuple(text.split(","))
    if len(set(names)) != len(names) or not set(names) <= set(scheme_names()):
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted some of {','.join(scheme_names())}")
    return names


def config_list(text: str) -> tuple[str, ...]:
    """A comma-separated list of configurations, without repeats."""
    names = tuple(text.split(","))
    if len(set(names)) != len(names) or not set(names) <= set(CONFIGS):
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted some of {','.join(CONFIGS)}")
    return names


def _run_ops(arguments: argparse.Namespace) -> int:
    count, repeats = arguments.count, arguments.repeats
    if arguments.quick:
        count, repeats = max(1, count // 10), min(2, repeats)
    settings = BenchSettings(arguments.bits, count, arguments.threads, arguments.schemes, repeats)
    return bench_report.run(settings, arguments.json)


def _run_train(arguments: argparse.Namespace) -> int:
    given = {name: value for name, value in vars(arguments).items() if name in TrainSettings.__dataclass_fields__}
    if given["features"] is not None:
        given["features"] = tuple(given["features"])
    return train_report.run(TrainSettings(**given), arguments.json)


def _run_papers(arguments: argparse.Namespace) -> int:
    folder = bench_papers.scripts_folder()
    if arguments.list or arguments.index:
        scripts = bench_papers.find_scripts(folder)
        if arguments.list:
            print(bench_papers.list_scripts(scripts))
        if arguments.index:
            out = arguments.out or bench_papers.results_folder(arguments.quick, folder)
            bench_papers.write_index(scripts, out)
        return OK
    return bench_papers.run(arguments.names, arguments.quick, arguments.out, arguments.threads, folder)
