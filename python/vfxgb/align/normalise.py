"""Steps that bring ids of different tables to one spelling. None is taken by itself: parties agree on a list.

A step is a name, or a name and a value after a colon: "strip", "unprefix:AT-", "zfill:10". They apply in the order of
the list, and the parties compare a digest of the list before anything else.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeAlias

from vfxgb.checks import closest_name
from vfxgb.errors import ParameterError

Step: TypeAlias = Callable[[str], str]

# What each step does, in words; a value in capitals follows a colon.
STEPS = {
    "strip": "drop white space at both ends",
    "lower": "Unicode lower case",
    "upper": "Unicode upper case",
    "nfkc": "Unicode normal form KC: one spelling of letters with accents, wide digits, ligatures",
    "digits": "keep the digits 0 to 9 and drop everything else",
    "unprefix:TEXT": "drop TEXT at the start if it stands there",
    "zfill:N": "fill with zeros on the left up to N characters (1 to 64)",
}
_NAMES = {name.partition(":")[0]: ":" in name for name in STEPS}
_DIGEST_LABEL = b"vfxgb id steps 1\n"
MAX_FILL = 64


def check_steps(steps: Sequence[str], where: str) -> tuple[str, ...]:
    """The steps, if each is one of STEPS with a value where it takes one. Raises ParameterError else."""
    if isinstance(steps, str):
        raise ParameterError(f'{where}: found the text {steps!r}, wanted a list of steps such as ["strip", "lower"]')
    for step in steps:
        name, colon, value = str(step).partition(":")
        if name not in _NAMES:
            hint = closest_name(name, list(_NAMES))
            raise ParameterError(
                f"{where}: found the step {step!r}, wanted one of {', '.join(STEPS)}"
                + (f"; did you mean {hint!r}?" if hint else "")
            )
        if bool(colon) != _NAMES[name] or (colon and not value):
            wanted = next(form for form in STEPS if form.partition(":")[0] == name)
            raise ParameterError(f"{where}: found the step {step!r}, wanted it in the form {wanted!r}")
        if name == "zfill" and not (value.isascii() and value.isdecimal() and 1 <= int(value) <= MAX_FILL):
            raise ParameterError(f"{where}: found the step {step!r}, wanted zfill:N with N from 1 to {MAX_FILL}")
    return tuple(steps)


def normaliser(steps: Sequence[str]) -> Step:
    """All steps, which must have been checked, as one function."""
    functions = [_function(step) for step in steps]

    def apply(text: str) -> str:
        for function in functions:
            text = function(text)
        return text

    return apply


def steps_digest(steps: Sequence[str]) -> bytes:
    """32 bytes that two parties share only if their lists are equal."""
    digest = hashlib.sha256(_DIGEST_LABEL)
    for step in steps:
        text = step.encode()
        digest.update(len(text).to_bytes(4, "little") + text)
    return digest.digest()


def _function(step: str) -> Step:
    name, _, value = step.partition(":")
    if name == "unprefix":
        return lambda text: text.removeprefix(value)
    if name == "zfill":
        # Not str.zfill, which puts zeros behind a sign.
        return lambda text: text.rjust(int(value), "0")
    if name == "digits":
        return lambda text: re.sub("[^0-9]", "", text)
    if name == "nfkc":
        return lambda text: unicodedata.normalize("NFKC", text)
    plain: dict[str, Step] = {"strip": str.strip, "lower": str.lower, "upper": str.upper}
    return plain[name]
