"""Arguments of the `vfxgb` command: parsers and the checks of single values."""

import argparse
from typing import NoReturn

from vfxgb import __version__
from vfxgb.audit.attack import attack_names
from vfxgb.cli import audit, bench_report, demo, train_report
from vfxgb.cli.bench_ops import BenchSettings
from vfxgb.cli.bench_train import CONFIGS, TrainSettings
from vfxgb.cli.train_data import data_names
from vfxgb.crypto import scheme_names
from vfxgb.crypto.sizes import MAX_BITS, MIN_BITS


class UsageError(Exception):
    """Arguments the command does not understand."""


class OneLineParser(argparse.ArgumentParser):
    """Reports a mistake as an exception of one line instead of usage text and an exit."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{message}; see {self.prog} --help")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command; the namespace it returns has `run`, taking that namespace."""
    parser = OneLineParser(prog="vfxgb", description="XGBoost across organisations that may not pool their data.")
    parser.add_argument("--version", action="version", version=f"vfxgb {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    _add_demo(commands)
    _add_bench(commands)
    _add_audit(commands)
    return parser


def _add_demo(commands: "argparse._SubParsersAction[OneLineParser]") -> None:
    parser = commands.add_parser(
        "demo",
        help="encrypt, sum and decrypt the gradients of a loan table",
        description="Two parties in one process: gradients of a loan table are encrypted, summed per bucket by a "
        "party that cannot read them, decrypted, and compared with the plain sums. Uses give_credit.csv.gz of the "
        "folder VFXGB_DATA, or else a generated table.",
    )
    parser.add_argument("--rows", type=positive_int, default=demo.DEFAULT_ROWS, help="rows of the table (%(default)s)")
    parser.add_argument("--bits", type=positive_int, choices=(2048, 3072), default=3072, help="key bits (%(default)s)")
    parser.add_argument("--scheme", choices=scheme_names(), default="paillier", help="(%(default)s)")
    parser.add_argument("--threads", type=positive_int, default=None, help="threads (all cores)")
    parser.set_defaults(run=_run_demo)


def _add_bench(commands: "argparse._SubParsersAction[OneLineParser]") -> None:
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
    ops.set_defaults(run=_run_bench_ops)
    _add_bench_train(topics)


def _add_bench_train(topics: "argparse._SubParsersAction[OneLineParser]") -> None:
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
    train.set_defaults(run=_run_bench_train)


def _add_audit(commands: "argparse._SubParsersAction[OneLineParser]") -> None:
    parser = commands.add_parser(
        "audit",
        help="what a curious party could have learned from a recorded run",
        description="Attacks the transcript of a run (fit with record=True, then transcript_.save) as each of its "
        "parties, and says who learns what, with which success, next to the guess of a party that saw nothing. A "
        "transcript holds the private data of all parties of a simulation.",
    )
    parser.add_argument("run_file", metavar="RUN", help="the transcript, a file written by transcript_.save")
    parser.add_argument(
        "--attack", action="append", metavar="NAME", choices=attack_names(), help="only this one; repeatable"
    )
    parser.add_argument("--json", metavar="FILE", default=None, help="write all findings to this file")
    parser.add_argument("--plot", metavar="FILE", default=None, help="write a plot to this file (png, svg, pdf)")
    parser.set_defaults(run=_run_audit)


def positive_int(text: str) -> int:
    """A positive integer argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted an integer of at least 1")
    return int(text)


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


def _run_demo(arguments: argparse.Namespace) -> int:
    return demo.run(demo.DemoSettings(arguments.rows, arguments.bits, arguments.scheme, arguments.threads))


def _run_audit(arguments: argparse.Namespace) -> int:
    return audit.run(arguments.run_file, arguments.attack, arguments.json, arguments.plot)


def _run_bench_ops(arguments: argparse.Namespace) -> int:
    count, repeats = arguments.count, arguments.repeats
    if arguments.quick:
        count, repeats = max(1, count // 10), min(2, repeats)
    settings = BenchSettings(arguments.bits, count, arguments.threads, arguments.schemes, repeats)
    return bench_report.run(settings, arguments.json)


def _run_bench_train(arguments: argparse.Namespace) -> int:
    given = {name: value for name, value in vars(arguments).items() if name in TrainSettings.__dataclass_fields__}
    if given["features"] is not None:
        given["features"] = tuple(given["features"])
    return train_report.run(TrainSettings(**given), arguments.json)
