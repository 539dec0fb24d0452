"""`vfxgb bench`: measurements on this machine. What is measured is in vfxgb/bench; here are arguments and printing."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.bench import papers, peers
from vfxgb.bench.datasets import data_names
from vfxgb.bench.field import run as field
from vfxgb.bench.field.axes import FULL, LINES, QUICK, SHAPES
from vfxgb.bench.field.measure import Request
from vfxgb.bench.machine import machine_facts
from vfxgb.bench.ops import lattice
from vfxgb.bench.ops import measure as ops
from vfxgb.bench.ops import paths as ops_paths
from vfxgb.bench.ops import report as ops_report
from vfxgb.bench.scale import measure as scale
from vfxgb.bench.scale import report as scale_report
from vfxgb.bench.scale.results import read_costs
from vfxgb.bench.script_folders import results_folder, scripts_folder
from vfxgb.bench.train import measure as train
from vfxgb.bench.train import report as train_report
from vfxgb.bench.train.shapes import ALL_BARS, BARS, Shape, read_shapes
from vfxgb.cli.exits import BUG, OK
from vfxgb.cli.output import write_json
from vfxgb.cli.parser import Commands, OneLineParser, positive_int
from vfxgb.crypto import scheme_names
from vfxgb.crypto.sizes import MAX_BITS, MIN_BITS
from vfxgb.errors import ParameterError


def add(commands: Commands) -> None:
    """Add `bench` to the commands."""
    bench = commands.add_parser("bench", help="measure speed on this machine")
    topics = bench.add_subparsers(title="topics", required=True, metavar="topic", parser_class=OneLineParser)
    _add_ops(topics)
    _add_train(topics)
    _add_papers(topics)
    _add_peers(topics)
    _add_field(topics)
    _add_scale(topics)


def _add_ops(topics: Commands) -> None:
    parser = topics.add_parser(
        "ops",
        help="encryption, sums, decryption, against phe; oblivious transfers; argmax on shares; lattice sums",
        description="Microseconds per operation, and the ratio to phe 1.5 in the same run when it is installed; "
        "nanoseconds and bytes of oblivious transfers and of argmax on shares. With --lattice, sums over encrypted "
        "columns instead: processor seconds and bytes of a tree and of the set-up, with the first of --threads. With "
        "--paths, operations on ciphertexts by each of these kernels: microseconds of processor time, on one thread.",
    )
    parser.add_argument("--bits", type=key_bits, default=2048, help="key bits (%(default)s)")
    parser.add_argument("--count", type=positive_int, default=10000, help="ciphertexts per large batch (%(default)s)")
    parser.add_argument("--threads", type=int_list, default=(1, 2), help="comma-separated counts (1,2)")
    parser.add_argument("--schemes", type=some_of(scheme_names()), default=("paillier", "ou"), help="(paillier,ou)")
    parser.add_argument("--repeats", type=positive_int, default=5, help="measurements per operation (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the count and two repeats, for a first look")
    parser.add_argument("--lattice", action="store_true", help="sums over encrypted columns in place of all others")
    kernels = ops_paths.KNOWN
    parser.add_argument(
        "--paths", type=some_of(kernels), default=None, help=f"kernels to compare, of {','.join(kernels)}"
    )
    _add_json(parser)
    parser.set_defaults(run=_run_ops)


def _add_train(topics: Commands) -> None:
    parser = topics.add_parser(
        "train",
        help="encrypted training, against the cost of its arithmetic",
        description="Seconds, operations, bytes and memory per tree of encrypted training with two parties in memory, "
        "against the arithmetic alone as measured in the same run, protocol plain and xgboost. Tables come from the "
        "folder VFXGB_DATA; where it is not set, a generated table of the same shape is used. --ablation, --linear, "
        "--protocols and --paths measure other things instead.",
    )
    default = train.TrainSettings()
    configs = train.CONFIGS
    parser.add_argument("--data", choices=data_names(), default=default.data, help="(%(default)s)")
    parser.add_argument("--rows", type=positive_int, default=None, help="first rows of the table (all)")
    parser.add_argument(
        "--features", type=positive_int, nargs=2, metavar=("A", "P"), default=None, help="columns of synthetic data"
    )
    _add_numbers(parser, default, depth="", bins="", key_bits="", threads="of each party ", trees="beyond the first ")
    parser.add_argument(
        "--configs", type=some_of(tuple(configs)), default=None, help=f"comma-separated, of {','.join(configs)}"
    )
    parser.add_argument("--ablation", action="store_true", help="one optimisation off at a time; secureboost")
    parser.add_argument("--linear", action="store_true", help="growing generated tables, up to --rows (1,000,000)")
    parser.add_argument(
        "--protocols",
        type=names_in,
        default=(),
        metavar="NAMES",
        help="comma-separated, such as plain,ldp,ldp:mechanism=laplace:epsilon=1; the first is the measure",
    )
    parser.add_argument(
        "--shapes",
        type=shape_list,
        default=(),
        metavar="SHAPES",
        help=f"generated tables for --protocols, comma-separated, such as {BARS[0]}; {ALL_BARS}: four of them, with "
        "medians, flights, and time and bytes by step",
    )
    kernels = ops_paths.KNOWN
    parser.add_argument(
        "--paths", type=some_of(kernels), default=(), help=f"the same by each of these kernels, of {','.join(kernels)}"
    )
    parser.add_argument("--insecure", action="store_true", help="allow keys below 2048 bits")
    _add_json(parser)
    parser.set_defaults(run=_run_train)


def _add_papers(topics: Commands) -> None:
    parser = topics.add_parser(
        "papers",
        help="tables and figures of the papers, measured again",
        description="Runs the scripts that reproduce tables and figures of the papers, one after the other. Each "
        "writes Markdown, JSON and plots; papers.md lists them. Tables come from the folder VFXGB_DATA; where "
        "it is not set, generated ones of the same shape are used, and the results say so.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="scripts to run (all)")
    parser.add_argument("--list", action="store_true", help="print names, minutes and subjects, and run nothing")
    parser.add_argument(
        "--index", action="store_true", help="write papers.md for the results there are, and run nothing"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: all of it in a quarter of an hour")
    parser.add_argument(
        "--resume", action="store_true", help="leave out scripts whose results are finished and of this commit"
    )
    parser.add_argument("--threads", type=positive_int, default=None, help="of each party (2)")
    _add_out(parser, papers.USER_RESULTS)
    parser.set_defaults(run=_run_papers)


def _add_peers(topics: Commands) -> None:
    parser = topics.add_parser(
        "peers",
        help="speed next to phe, xgboost, HEU, fate_utils and FedTree, as far as they are installed",
        description="Processor time of encryption, sums, decryption and training on one core, next to other libraries "
        "in the same run. What is not installed is left out, and the result says how to install it. Writes peers.json "
        "and peers.md. Tables come from the folder VFXGB_DATA; where it is not set, generated ones of the same shape "
        "are used.",
    )
    parser.add_argument(
        "--peers",
        type=names_in,
        default=(),
        metavar="NAMES",
        help="comma-separated, such as phe,heu (all)",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, for a first look: a minute or two")
    parser.add_argument("--repeats", type=positive_int, default=None, help="measurements per operation (5, quick: 2)")
    _add_out(parser, peers.USER_RESULTS)
    parser.set_defaults(run=_run_peers)


def _add_field(topics: Commands) -> None:
    shapes, lines = (",".join(each.name for each in axis) for axis in (SHAPES, LINES))
    parser = topics.add_parser(
        "field",
        help="protocols and other libraries, two processes each, over the same shaped lines",
        description="Trains with every protocol and every library that is installed, each party in a process of its "
        "own, over lines that are shaped on the loopback address, and checks each model before its time counts. Writes "
        "field.json, field.md and a figure for each table. Cells that are in the file already are not run again: a run "
        "that was broken off, or whose time is over, goes on. Cells that take long come last.",
    )
    parser.add_argument("--peers", type=names_in, default=(), metavar="NAMES", help="such as vfxgb,secretflow (all)")
    parser.add_argument("--entrants", type=names_in, default=(), metavar="NAMES", help="such as sealed,plain (all)")
    parser.add_argument("--shapes", type=names_in, default=(), metavar="NAMES", help=f"of {shapes} (all)")
    parser.add_argument("--lines", type=names_in, default=(), metavar="NAMES", help=f"of {lines} (all)")
    parser.add_argument("--quick", action="store_true", help="the smallest shape, two lines: ten minutes at most")
    parser.add_argument("--again", action="store_true", help="run those that are done, too")
    parser.add_argument("--install", action="store_true", help="peers that are missing, each into an environment")
    parser.add_argument(
        "--environments",
        type=Path,
        metavar="DIR",
        default=None,
        help="folder of the environments (~/.cache/vfxgb/field)",
    )
    parser.add_argument(
        "--limit",
        type=positive_int,
        default=None,
        metavar="SECONDS",
        help=f"of a cell ({FULL.limit_seconds:.0f}, quick: {QUICK.limit_seconds:.0f})",
    )
    parser.add_argument("--minutes", type=positive_int, default=None, help="of the whole run (60, quick: 9)")
    parser.add_argument("--threads", type=positive_int, default=FULL.threads, help="of each party (%(default)s)")
    parser.add_argument("--page", action="store_true", help="write page and figures of the file, and run nothing")
    _add_out(parser, field.USER_RESULTS)
    parser.set_defaults(run=_run_field)


def _add_scale(topics: Commands) -> None:
    default = scale.ScaleSettings()
    parts = scale.PARTS
    parser = topics.add_parser(
        "scale",
        help="rows in shards: on a Dask cluster of this machine, and in memory-mapped files",
        description="Trains with batch_he, ot_shares or sealed from Parquet files: with rows in one process and on a "
        "Dask cluster of this machine in several shards, in turn, and compares time and models; with growing tables, "
        "for the memory of the process that is not a worker; and, if asked, under a limit of memory. Needs "
        "vfxgb[dask] and pyarrow. With --json, parts that are not measured stay in the file as they are.",
    )
    parser.add_argument(
        "--parts", type=some_of(parts), default=None, help=f"of {','.join(parts)} (all but the last; costs: batch_he)"
    )
    parser.add_argument("--protocol", choices=scale.PROTOCOLS, default=default.protocol, help="(%(default)s)")
    parser.add_argument("--out-of-core", action="store_true", help="that part too: many rows, some gigabytes on disk")
    parser.add_argument("--scheme", choices=scale.SCHEMES, default=default.scheme, help="(%(default)s)")
    _add_numbers(parser, default, key_bits="", rows="of part shards ", features="of both parties ", trees="")
    _add_numbers(parser, default, depth="", bins="")
    parser.add_argument("--shards", type=int_list, default=default.shards, help="comma-separated (1,2,4)")
    _add_numbers(parser, default, repeats="of part shards ")
    parser.add_argument(
        "--memory-rows", type=int_list, default=default.memory_rows, help="of part memory (250000,1000000,4000000)"
    )
    _add_numbers(parser, default, large_rows="of part out-of-core ")
    parser.add_argument("--memory-limit", default=default.memory_limit, help="of part out-of-core (%(default)s)")
    parser.add_argument("--folder", type=Path, default=None, help="for the data, which stays there (a temporary one)")
    parser.add_argument("--quick", action="store_true", help="few rows, keys that protect nothing: a minute at most")
    _add_json(parser)
    parser.set_defaults(run=_run_scale)


def _add_numbers(parser: OneLineParser, default: object, **helps: str) -> None:
    """Options that are positive numbers, named as the settings `default` has them, with the beginning of their help."""
    for name, about in helps.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=positive_int, default=getattr(default, name), help=f"{about}(%(default)s)")


def _add_json(parser: OneLineParser) -> None:
    parser.add_argument("--json", metavar="FILE", default=None, help="write all raw numbers to this file")


def _add_out(parser: OneLineParser, user_results: Path) -> None:
    out = f"folder of the results (./{user_results}; without --quick, in a source tree: docs/results)"
    parser.add_argument("--out", type=Path, metavar="DIR", default=None, help=out)


def key_bits(text: str) -> int:
    """An even key size in the allowed range."""
    bits = positive_int(text)
    if bits % 2 or not MIN_BITS <= bits <= MAX_BITS:
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted an even number from {MIN_BITS} to {MAX_BITS}")
    return bits


def int_list(text: str) -> tuple[int, ...]:
    """A comma-separated list of positive integers, without repeats."""
    numbers = tuple(positive_int(part) for part in text.split(","))
    if len(set(numbers)) != len(numbers):
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted every number once")
    return numbers


def shape_list(text: str) -> tuple[Shape, ...]:
    """Shapes of generated tables."""
    try:
        return read_shapes(text)
    except ParameterError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def names_in(text: str) -> tuple[str, ...]:
    """A comma-separated list of names."""
    return tuple(text.split(","))


def some_of(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """A reader of comma-separated lists of some of the `known` names, without repeats."""

    def some(text: str) -> tuple[str, ...]:
        names = names_in(text)
        if len(set(names)) != len(names) or not set(names) <= set(known):
            raise argparse.ArgumentTypeError(f"found {text!r}, wanted some of {','.join(known)}")
        return names

    return some


def _run_ops(arguments: argparse.Namespace) -> int:
    count, repeats = arguments.count, arguments.repeats
    if arguments.quick:
        count, repeats = max(1, count // 10), min(2, repeats)
    if arguments.lattice:
        return _run_lattice(arguments, repeats)
    settings = ops.BenchSettings(arguments.bits, count, arguments.threads, arguments.schemes, repeats)
    if arguments.paths is not None:
        return _run_paths(arguments, settings)
    _check_writable(arguments.json)
    facts = _print_facts()
    print(f"{ops_report.heading(settings)}\n", flush=True)
    result = ops.measure(settings)
    print("\n".join(ops_report.table_lines(result)))
    write_json(ops_report.to_json(result, facts), arguments.json)
    return OK


def _run_lattice(arguments: argparse.Namespace, repeats: int) -> int:
    """Raises for sums that are wrong."""
    _check_writable(arguments.json)
    facts = _print_facts()
    shapes = lattice.QUICK_SHAPES if arguments.quick else lattice.SHAPES
    threads = arguments.threads[0]
    found = lattice.measure_lattice(shapes, threads, repeats)
    print("\n".join(ops_report.lattice_lines(found, threads)))
    write_json(ops_report.lattice_json(found, threads, facts), arguments.json)
    return OK


def _run_paths(arguments: argparse.Namespace, settings: ops.BenchSettings) -> int:
    settings = replace(settings, threads=(ops_paths.THREADS,))
    _check_writable(arguments.json)
    facts = _print_facts()
    print(f"{ops_report.heading(settings)}\n", flush=True)
    found = ops_paths.measure_paths(settings, arguments.paths)
    print("\n".join(ops_report.path_lines(found, arguments.paths)))
    write_json(ops_report.paths_json(found, arguments.paths, settings, facts), arguments.json)
    return OK


def _run_train(arguments: argparse.Namespace) -> int:
    given = _settings(arguments, train.TrainSettings)
    if given["features"] is not None:
        given["features"] = tuple(given["features"])
    settings = train.TrainSettings(**given)
    train.check(settings)
    _check_writable(arguments.json)
    facts = _print_facts()
    parts = train.measure(settings)
    print("\n".join(train_report.report_lines(settings, parts)))
    write_json(train_report.to_json(settings, facts, parts), arguments.json)
    return OK


def _run_papers(arguments: argparse.Namespace) -> int:
    folder = scripts_folder("papers")
    if arguments.list or arguments.index:
        scripts = papers.find_scripts(folder)
        if arguments.list:
            print(papers.list_scripts(scripts))
        if arguments.index:
            out = arguments.out or results_folder(arguments.quick, folder, papers.USER_RESULTS)
            papers.write_index(scripts, out)
        return OK
    failed = papers.run(
        arguments.names, arguments.quick, arguments.out, arguments.threads, folder, resume=arguments.resume
    )
    return BUG if failed else OK


def _run_peers(arguments: argparse.Namespace) -> int:
    return peers.run(arguments.peers, arguments.quick, arguments.repeats, arguments.out)


def _run_field(arguments: argparse.Namespace) -> int:
    settings = replace(QUICK if arguments.quick else FULL, threads=arguments.threads)
    if arguments.limit is not None:
        settings = replace(settings, limit_seconds=float(arguments.limit))
    if arguments.minutes is not None:
        settings = replace(settings, budget_seconds=60.0 * arguments.minutes)
    settings = field.choose(settings, arguments.shapes, arguments.lines)
    request = Request(settings, arguments.peers, arguments.entrants, arguments.again, arguments.install)
    return field.run(request, arguments.out, arguments.environments, arguments.page)


def _run_scale(arguments: argparse.Namespace) -> int:
    """Raises for mistakes and for models that differ."""
    given = _settings(arguments, scale.ScaleSettings)
    if arguments.parts is None:
        given["parts"] = scale.DEFAULT_PARTS[arguments.protocol]
    if arguments.out_of_core:
        given["parts"] = tuple(dict.fromkeys([*given["parts"], scale.PARTS[-1]]))
    settings = scale.ScaleSettings(**given)
    if arguments.quick:
        settings = scale.quick(settings)
    document = scale_report.read_document(arguments.json)
    facts = _print_facts()
    for part, measured in scale.measure(settings, arguments.folder, read_costs(document)).items():
        document[part] = {"machine": facts, "settings": asdict(settings), "found": msgspec.to_builtins(measured)}
    print("\n".join(scale_report.report_lines(document, settings.parts)))
    write_json(document, arguments.json)
    return OK


def _settings(arguments: argparse.Namespace, kind: type[Any]) -> dict[str, Any]:
    """Those of the arguments that are fields of a dataclass of settings."""
    return {name: value for name, value in vars(arguments).items() if name in kind.__dataclass_fields__}


def _check_writable(json_file: str | None) -> None:
    """A path that cannot be written should fail now, not after the measurement."""
    if json_file is not None and json_file != "-":
        Path(json_file).touch()


def _print_facts() -> dict[str, str]:
    """Print what machine this is; gives the same."""
    facts = machine_facts()
    for name, value in facts.items():
        print(f"{name:<14} {value}")
    print(flush=True)
    return facts
