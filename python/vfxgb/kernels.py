"""Which kernels of the core this machine can run, and which are in use.

`python -m vfxgb.kernels` prints them. The environment variable VFXGB_SIMD names the highest instruction set that
kernels may use; results do not depend on it.
"""

from dataclasses import dataclass

from vfxgb import _native


@dataclass(frozen=True)
class KernelFamily:
    """Kernels that do the same thing in several ways: `paths`, the best last; `in_use` is one of them."""

    name: str
    paths: tuple[str, ...]
    in_use: str


def kernel_families() -> list[KernelFamily]:
    """All families of kernels."""
    return [KernelFamily(name, tuple(paths), in_use) for name, paths, in_use in _native.paths.kernel_families()]


def kernels_in_use() -> str:
    """The instruction set that kernels may use, and the path that each family takes, as text."""
    taken = ", ".join(f"{family.name} {family.in_use}" for family in kernel_families())
    return f"{_native.paths.allowed_instruction_set()} ({taken})"


def main() -> None:
    """Print a line for the instruction sets and one for each family."""
    allowed, sets = _native.paths.allowed_instruction_set(), ", ".join(_native.paths.instruction_sets())
    print(f"{'instruction set':<16} {allowed:<11} of {sets}")
    for family in kernel_families():
        print(f"{family.name:<16} {family.in_use:<11} of {', '.join(family.paths)}")


if __name__ == "__main__":
    main()
