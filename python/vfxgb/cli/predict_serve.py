"""`vfxgb predict --serve`: its options, and the endpoint from start to signal."""

import argparse
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from vfxgb.cli.exits import OK
from vfxgb.cli.output import tell
from vfxgb.cli.parser import UsageError

if TYPE_CHECKING:
    from vfxgb.party.config import PartyConfig
    from vfxgb.party.logs import Log

# Requests under way and the sessions get less than this to end (Endpoint.close).
END_SECONDS = 40.0
# Options that have no meaning without --serve.
OPTIONS = ("host", "port", "token_file", "token_env", "tls_certificate", "tls_key", "follow_latest")


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the endpoint."""
    group = parser.add_argument_group("with --serve")
    group.add_argument("--host", help="where to listen (127.0.0.1: this machine only)")
    group.add_argument("--port", type=int, help="0 lets the system pick (8080)")
    group.add_argument("--token-file", metavar="FILE", type=Path, help="a secret that requests have to name")
    group.add_argument("--token-env", metavar="NAME", help="the same, in a variable of the environment")
    group.add_argument("--tls-certificate", metavar="FILE", type=Path, help="for HTTPS: a certificate, PEM")
    group.add_argument("--tls-key", metavar="FILE", type=Path, help="for HTTPS: its private key, PEM, mode 0600")
    latest = "change to the model of a new run when it has finished"
    group.add_argument("--follow-latest", action="store_true", default=None, help=latest)


def need_no_options(arguments: argparse.Namespace) -> None:
    """Raise UsageError if an option of the endpoint is given without --serve."""
    given = [name for name in OPTIONS if getattr(arguments, name) is not None]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"vfxgb predict: {options} without --serve, which it goes with")


def hidden_if(wanted: bool, config: "PartyConfig") -> "PartyConfig":
    """Set hidden of [predict] if the option is given."""
    from msgspec.structs import replace

    return replace(config, predict=replace(config.predict, hidden=True)) if wanted else config


def serve_scores(arguments: argparse.Namespace) -> int:
    """Answer requests until a signal."""
    from vfxgb.party.access import read_token, server_tls
    from vfxgb.party.config import load_config
    from vfxgb.party.endpoint import DEFAULT_PORT, Endpoint
    from vfxgb.party.logs import Log
    from vfxgb.party.scoring import Scorer

    if arguments.input is not None:
        raise UsageError("vfxgb predict: --serve takes no files; rows come with the requests")
    if arguments.follow_latest and arguments.model != "latest":
        raise UsageError("vfxgb predict: --follow-latest changes models, --model names one; leave one of them out")
    config = hidden_if(arguments.hidden, load_config(arguments.config))
    token = read_token(arguments.token_file, arguments.token_env)
    tls = server_tls(arguments.tls_certificate, arguments.tls_key)
    log = Log.of(config)
    scorer = Scorer(config, log, arguments.model, bool(arguments.follow_latest))
    host = "127.0.0.1" if arguments.host is None else arguments.host
    if arguments.dry_run:
        print(f"{config.party} would score rows of {', '.join(scorer.features)} with {', '.join(scorer.share.parties)}")
        return OK
    stop = threading.Event()

    def end(*_: object) -> None:
        stop.set()
        _end_in_time(log)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    scorer.connect()
    endpoint = Endpoint(scorer, host, DEFAULT_PORT if arguments.port is None else arguments.port, token, tls, log)
    _warn(host, token is not None, tls is not None)
    which = "the latest model, now" if arguments.follow_latest else "the model"
    endpoint.run(stop, lambda _: tell(f"scoring at {endpoint.url} with {which} {scorer.share.run}"))
    return OK


def _end_in_time(log: "Log") -> None:
    """End the process by force if it has not ended END_SECONDS from now: whoever stops a service waits for that."""

    def force() -> None:
        log.error("failed", text=f"scoring had not ended {END_SECONDS:g} seconds after it was told to; ended by force")
        os._exit(OK)

    timer = threading.Timer(END_SECONDS, force)
    timer.daemon = True
    timer.start()


def _warn(host: str, has_token: bool, has_tls: bool) -> None:
    """Say what an address that others can reach gives away."""
    from vfxgb.party.web import is_loopback

    if is_loopback(host):
        return
    if not has_token:
        tell("vfxgb: others can reach this address, and whoever can may ask for scores; --token-file")
    if not has_tls:
        tell("vfxgb: scores and tokens pass the network in the clear; --tls-certificate, --tls-key")
