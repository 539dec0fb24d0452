"""The table of xgboost's names in docs/migrating.md: complete for the xgboost that is installed, as the code has it."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vfxgb.reference.xgboost_names import (
    argument_status,
    known_methods,
    known_parameters,
    method_status,
    parameter_status,
    table,
)

xgb = pytest.importorskip("xgboost")

PAGE = Path(__file__).parents[2] / "docs" / "migrating.md"
KINDS = (xgb.XGBClassifier, xgb.XGBRegressor)
LEFT_OUT = {"self", "kwargs"}


def xgboosts_parameters() -> set[str]:
    """All that xgboost's estimators take by name."""
    return {name for kind in (xgb.XGBModel, *KINDS) for name in inspect.signature(kind.__init__).parameters} - LEFT_OUT


def xgboosts_methods() -> set[str]:
    return {name for kind in KINDS for name in dir(kind) if not name.startswith("_")}


def arguments() -> Iterator[tuple[str, str]]:
    for name in sorted(xgboosts_methods()):
        method: Any = getattr(xgb.XGBClassifier, name)
        if inspect.isfunction(method) and method_status(name)[:7] != "refused":
            for argument in inspect.signature(method).parameters:
                if argument not in LEFT_OUT and argument not in ("fname", "params", "deep"):
                    yield name, argument


def test_every_parameter_of_xgboost_is_in_the_table() -> None:
    assert xgboosts_parameters() <= set(known_parameters())
    assert all(parameter_status(name) for name in known_parameters())


def test_every_method_of_xgboost_is_in_the_table() -> None:
    assert xgboosts_methods() <= set(known_methods())
    assert all(method_status(name) for name in known_methods())


@pytest.mark.parametrize(("method", "argument"), list(arguments()))
def test_every_argument_of_a_method_is_known(method: str, argument: str) -> None:
    assert argument_status(method, argument)


def test_the_page_has_the_table() -> None:
    assert table(known_parameters(), known_methods()) in PAGE.read_text(), (
        "put what `python -m vfxgb.reference.xgboost_names` prints into docs/migrating.md"
    )


def test_a_parameter_that_nobody_knows_is_found() -> None:
    with pytest.raises(KeyError):
        parameter_status("brand_new")
    with pytest.raises(KeyError):
        method_status("brand_new")
    with pytest.raises(KeyError):
        argument_status("fit", "brand_new")
