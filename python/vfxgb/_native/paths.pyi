"""The paths of all families of kernels (cpp/paths)."""

def instruction_sets() -> list[str]:
    """The instruction sets of this machine that kernels are written for, lowest first; the first is "portable"."""

def allowed_instruction_set() -> str:
    """The highest of them that kernels may use: the last, or the one VFXGB_SIMD names. ValueError if it is no such."""

def kernel_families() -> list[tuple[str, list[str], str]]:
    """For each family of kernels its name, the paths this machine can run (best last) and the one in use."""
