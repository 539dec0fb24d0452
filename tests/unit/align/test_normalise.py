import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.align.normalise import STEPS, check_steps, normaliser, steps_digest
from vfxgb.errors import ParameterError


@pytest.mark.parametrize(
    ("steps", "text", "wanted"),
    [
        ([], "  Aß ", "  Aß "),
        (["strip"], "\t a b \n", "a b"),
        (["lower"], "ÄB", "äb"),
        (["upper"], "straße", "STRASSE"),
        (["nfkc"], "e\u0301\uff11\ufb01", "\u00e91fi"),
        (["digits"], "AT-12 34/٣", "1234"),
        (["unprefix:AT-"], "AT-AT-7", "AT-7"),
        (["unprefix:AT-"], "7AT-", "7AT-"),
        (["zfill:5"], "-42", "00-42"),
        (["zfill:2"], "1234", "1234"),
        (["strip", "lower", "unprefix:id:", "zfill:4"], " ID:7 ", "0007"),
        (["unprefix:id:", "lower"], "ID:7", "id:7"),
    ],
)
def test_steps(steps: list[str], text: str, wanted: str) -> None:
    assert normaliser(check_steps(steps, "test"))(text) == wanted


def test_every_step_is_known() -> None:
    examples = {"unprefix:TEXT": "unprefix:x", "zfill:N": "zfill:3"}
    for name in STEPS:
        normaliser(check_steps([examples.get(name, name)], "test"))("x1")


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        ("strip", "wanted a list"),
        (["stirp"], "did you mean 'strip'"),
        (["trim!"], "wanted one of strip"),
        (["strip:x"], "in the form 'strip'"),
        (["unprefix"], "in the form 'unprefix:TEXT'"),
        (["unprefix:"], "in the form 'unprefix:TEXT'"),
        (["zfill:0"], "N from 1 to 64"),
        (["zfill:65"], "N from 1 to 64"),
        (["zfill:²"], "N from 1 to 64"),
        (["zfill:-1"], "N from 1 to 64"),
    ],
)
def test_bad_steps(steps: list[str], wanted: str) -> None:
    with pytest.raises(ParameterError, match=wanted):
        check_steps(steps, "reading ids of party 'bank': normalise")


LISTS = st.lists(st.sampled_from(["", "a", "ab", "b", ":", "\n"]), max_size=3)


@given(LISTS, LISTS)
def test_digest_tells_lists_apart(one: list[str], other: list[str]) -> None:
    assert (steps_digest(one) == steps_digest(other)) == (one == other)
