"""The instruction sets that kernels are written for, as parameters of tests: those that a machine lacks are skipped."""

import pytest

from vfxgb import _native

NAMES = ("portable", "neon", "avx2", "avx512", "ifma")
INSTRUCTION_SETS = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name not in _native.paths.instruction_sets(), reason=f"this machine cannot run the kernels of {name}"
        ),
    )
    for name in NAMES
]
