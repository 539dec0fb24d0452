"""Which kernels are in use: `python -m vfxgb.kernels`, the facts of a benchmark, VFXGB_SIMD."""

import os
import subprocess
import sys

import pytest

from instruction_sets import INSTRUCTION_SETS, NAMES
from vfxgb import _native
from vfxgb.kernels import kernel_families, kernels_in_use


def test_every_set_is_a_parameter() -> None:
    assert set(_native.paths.instruction_sets()) <= set(NAMES)


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_a_set_limits_every_family(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("VFXGB_SIMD", raising=False)
    best = {family.name: family.in_use for family in kernel_families()}
    monkeypatch.setenv("VFXGB_SIMD", name)
    families = kernel_families()
    assert {family.name for family in families} == set(best)
    for family in families:
        assert family.in_use in family.paths
        assert family.paths[-1] == best[family.name]
        if name == "portable":
            assert family.in_use == "portable"
        if name == _native.paths.instruction_sets()[-1]:
            assert family.in_use == best[family.name]
    assert kernels_in_use().startswith(f"{name} (bigint ")
    assert _native.ot.aes_path() == next(family.in_use for family in families if family.name == "aes")


def test_a_set_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VFXGB_SIMD", "mmx")
    with pytest.raises(ValueError, match="VFXGB_SIMD is 'mmx'; this machine can run: portable"):
        kernel_families()


def test_the_printed_table() -> None:
    environment = {**os.environ, "VFXGB_SIMD": "portable"}
    done = subprocess.run(
        [sys.executable, "-m", "vfxgb.kernels"], capture_output=True, text=True, check=True, env=environment
    )
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["instruction", "set", "portable"]
    assert len(lines) == 1 + len(kernel_families())
    for line, family in zip(lines[1:], kernel_families(), strict=True):
        assert line.split() == [*family.name.split(), "portable", "of", *", ".join(family.paths).split()]
