"""Parameters as their definitions describe them: meanings, forms, docstrings, checks; none is undescribed."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pytest
from msgspec import Meta

from vfxgb import FedXGBClassifier, FedXGBRegressor, VFXGBClassifier, VFXGBRegressor
from vfxgb.align.params import AlignParams
from vfxgb.described import allows, documented, mistake, parameters, shown, wanted
from vfxgb.engine.settings import EngineSettings
from vfxgb.params import TrainParams, parameter_names
from vfxgb.party.config import SECTIONS, PartyConfig
from vfxgb.party.sections import PeerSection
from vfxgb.party.users import ServerSection, UserSection
from vfxgb.protocols import protocol_by_name, shipped_protocols
from vfxgb.secagg import aggregator_by_name, aggregator_names
from vfxgb.transport.network.limits import Limits

Few = Annotated[int, Meta(ge=2, le=9, description="A few of them.")]
SETTINGS = (
    TrainParams,
    EngineSettings,
    AlignParams,
    Limits,
    PartyConfig,
    PeerSection,
    ServerSection,
    UserSection,
    *SECTIONS.values(),
    *(protocol_by_name(name).params for name in shipped_protocols()),
    *(aggregator_by_name(name).params for name in aggregator_names()),
)
ESTIMATORS = (VFXGBClassifier, VFXGBRegressor, FedXGBClassifier, FedXGBRegressor)
# Fields that are sections, whose keys are described in structs of their own; and where the file is.
SECTION_FIELDS = {*SECTIONS, "peers", "train", "network", "align", "users", "path"}


@documented()
class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What lies within."""

    few: Few | None = None


@documented()
class Outer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A summary."""

    name: Annotated[str, Meta(description="What it is called.")]
    few: Annotated[Few, Meta(description="How many.")] = 3
    kind: Annotated[Literal["x", "y"], Meta(description="Which one.")] = "x"
    inner: Annotated[Inner, Meta(description="More of it.")] = Inner()
    names: tuple[str, ...] = ()


@documented(Outer)
class Constructed:
    """A class with a constructor."""

    def __init__(
        self,
        *,
        few: int = 4,
        other: Annotated[float | None, Meta(description="Another.")] = None,
        **unknown: Any,
    ) -> None:
        """Nothing is kept."""


@pytest.mark.parametrize("kind", SETTINGS, ids=lambda kind: kind.__name__)
def test_no_parameter_is_undescribed(kind: type[Any]) -> None:
    skipped = SECTION_FIELDS if kind is PartyConfig else set()
    silent = [entry.name for entry in parameters(kind) if not entry.meaning and entry.name not in skipped]
    assert silent == []


@pytest.mark.parametrize("kind", [*SETTINGS, *ESTIMATORS], ids=lambda kind: kind.__name__)
def test_the_docstring_lists_every_parameter_with_default_and_bounds(kind: type[Any]) -> None:
    said = inspect.getdoc(kind) or ""
    sources = (TrainParams, EngineSettings) if kind in ESTIMATORS else ()
    for entry in parameters(kind, *sources):
        if entry.meaning:
            assert f"\n{entry.name} : {entry.wanted()}; default {entry.shown()}\n    " in said
            assert " ".join(entry.meaning.split()) in " ".join(said.split())
    if kind in ESTIMATORS:
        assert all(entry.meaning for entry in parameters(kind, *sources))


@pytest.mark.parametrize("kind", [*SETTINGS, *ESTIMATORS], ids=lambda kind: kind.__name__)
def test_meanings_are_sentences(kind: type[Any]) -> None:
    for said in (entry.meaning for entry in parameters(kind) if entry.meaning):
        assert said[0].isupper() or said[0] in "'`"
        assert said.endswith(".")
        assert "papers/0" not in said


def test_a_summary_stays_in_front() -> None:
    said = (TrainParams.__doc__ or "").splitlines()
    assert said[0] == "Everything that decides which trees are grown, apart from the data and the protocol."
    assert "Parameters" in said


def test_help_lists_the_training_parameters() -> None:
    said = VFXGBClassifier.__doc__ or ""
    for name in set(parameter_names()) - {"num_class"}:
        assert f"\n{name} : " in said
    assert "\nmax_depth : an integer from 1 to 30; default 6\n" in said


def test_parameters_of_a_struct() -> None:
    name, few, kind, inner, names = parameters(Outer)
    assert (name.meaning, few.meaning, names.meaning) == ("What it is called.", "How many.", "")
    assert [entry.shown(toml=True) for entry in (name, few, kind, inner, names)] == [
        "must be given",
        "3",
        '"x"',
        "{}",
        "[]",
    ]
    assert few.wanted() == "an integer from 2 to 9"
    assert parameters(Inner)[0].meaning == "A few of them."
    assert Outer.__doc__ is not None
    assert "few : an integer from 2 to 9; default 3\n    How many.\n" in Outer.__doc__
    assert "names :" not in Outer.__doc__


def test_parameters_of_a_constructor() -> None:
    few, other = parameters(Constructed, Outer)
    assert (few.meaning, few.default, few.wanted()) == ("How many.", 4, "an integer from 2 to 9")
    assert other.meaning == "Another."
    assert str(inspect.signature(Constructed)) in (
        "(*, few: int = 4, other: float | None = None) -> None",
        "(*, few: int = 4, other: Optional[float] = None) -> None",
    )


def test_parameters_of_a_dataclass() -> None:
    @documented()
    @dataclass(frozen=True)
    class Sizes:
        """Sizes."""

        width: Annotated[float, Meta(gt=0, description="How wide.")] = 2.0

    assert parameters(Sizes)[0].wanted() == "a number above 0"
    assert Sizes.__doc__ == "Sizes.\n\nParameters\n----------\nwidth : a number above 0; default 2.0\n    How wide.\n"
    assert str(inspect.signature(Sizes)) == "(width: float = 2.0) -> None"


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (bool, "True or False"),
        (Annotated[float, Meta(gt=0.0, le=1.5)], "a number above 0 and at most 1.5"),
        (Annotated[int, Meta(ge=64, multiple_of=2)], "an integer of at least 64, a multiple of 2"),
        (Annotated[float, Meta(le=2)], "a number of at most 2"),
        (int | str | None, "an integer or text, or None"),
        (dict[str, Any], "a mapping"),
        (Mapping[str, int] | None, "a mapping, or None"),
        (str | Callable[..., Any], "text or a callable"),
        (tuple[float, float], "[a number, a number]"),
        (Literal["x", "y"], "one of 'x', 'y'"),
        (Annotated[Any, Meta(extra={"wanted": "a folder"})], "a folder"),
        (Inner, "a mapping"),
    ],
)
def test_types_in_words(hint: Any, said: str) -> None:
    assert wanted(hint) == said


def test_values_as_they_are_written() -> None:
    assert [shown(value) for value in (None, True, "a", (1, 2), {}, 0.5)] == [
        "None",
        "True",
        "'a'",
        "[1, 2]",
        "{}",
        "0.5",
    ]
    assert [shown(value, toml=True) for value in (None, True, "a")] == ["absent", "true", '"a"']


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [0, -3, np.int64(2), 10**400], [True, 1.0, "1", None, math.nan]),
        (float, [1, 0.5, np.float32(2)], [math.nan, math.inf, False, "1", None]),
        (Annotated[float, Meta(gt=0, le=1)], [1, 0.1], [0, 1.1, None]),
        (Few | None, [2, 9, None], [1, 10, 2.0]),
        (Literal["x", "y"], ["x", np.str_("y")], ["z", 1, None]),
        (bool, [True], [1, None]),
        (Mapping[str, int] | None, [{}, None], [[], "a"]),
        (Any, [None, 3], []),
    ],
)
def test_what_a_type_allows(hint: Any, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not allows(hint, value)] == []
    assert [value for value in bad if allows(hint, value)] == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "a", "few": 1}, "few = 1, wanted an integer from 2 to 9"),
        ({"name": "a", "kind": "z"}, "kind = 'z', wanted one of 'x', 'y'"),
        ({"name": 3}, "name = 3, wanted text"),
        ({"name": "a", "inner": {"few": 10}}, "inner.few = 10, wanted an integer from 2 to 9, or None"),
        ({"name": "a", "inner": 3}, "inner = 3, wanted a mapping"),
        ({}, "Object missing required field `name`"),
        ({"name": "a", "more": 1}, "Object contains unknown field `more`"),
        ({"name": "a", "names": [1]}, "Expected `str`, got `int` - at `$.names[0]`"),
    ],
)
def test_mistakes_name_value_and_what_is_wanted(given: dict[str, Any], said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(given, Outer)
    assert mistake(raised.value, given, Outer) == said


def test_texts_change_no_encoding() -> None:
    given = Outer("a", inner=Inner(few=4))
    assert msgspec.to_builtins(given) == {"name": "a", "few": 3, "kind": "x", "inner": {"few": 4}, "names": ()}
    assert msgspec.json.decode(msgspec.json.encode(given), type=Outer) == given
    with pytest.raises(AttributeError):
        given.few = 5  # type: ignore[misc]
