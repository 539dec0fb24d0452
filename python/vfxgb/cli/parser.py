"""What the parsers of all commands share: mistakes in one line, and checks of single values."""

import argparse
from pathlib import Path
from typing import NoReturn, TypeAlias

LAST_PORT = 65_535


class UsageError(Exception):
    """Arguments the command does not understand."""


class OneLineParser(argparse.ArgumentParser):
    """Reports a mistake as an exception of one line instead of usage text and an exit.

    `helper`: whose help to name, if not this parser's own.
    """

    helper = ""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{message}; see {self.helper or self.prog} --help")


# What `add(commands)` of a command's module gets.
Commands: TypeAlias = "argparse._SubParsersAction[OneLineParser]"


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the argument of a command that works by a party's configuration."""
    parser.add_argument("config", metavar="PARTY.toml", type=Path)


def positive_int(text: str) -> int:
    """A positive integer argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted an integer of at least 1")
    return int(text)


def port(text: str) -> int:
    """A port to listen at; 0 lets the system pick one."""
    if not (text.isascii() and text.isdecimal()) or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted a port from 0 to {LAST_PORT}")
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds, 0 or more."""
    return at_least_zero(text, "a number of seconds")


def at_least_zero(text: str, what: str = "a number") -> float:
    """A number of 0 or more; `what` it is, for the mistake."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"found {text!r}, wanted {what}, 0 or more")
    return value
