"""Writes the speed tables of README.md from the result files in docs/results.

    vfxgb bench ops --bits 2048 --json docs/results/ops_2048.json
    vfxgb bench ops --bits 3072 --json docs/results/ops_3072.json
    build/release/bench/cpp/bench_montgomery --benchmark_out=docs/results/montgomery.json \
        --benchmark_filter='^(product/avx2|openssl)' --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
    python bench/update_readme.py

A test compares README.md with what this script would write, so the tables cannot differ from the files.
"""

import json
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- speed: written by bench/update_readme.py -->", "<!-- end of speed -->"
OPERATIONS = [
    ("encrypt, owner, djn", "encrypt, key owner"),
    ("encrypt, owner, short", "encrypt, key owner, short randomness"),
    ("encrypt, owner, pool", "encrypt from the pool"),
    ("encrypt, public, djn", "encrypt, public key"),
    ("add, in a long sum", "add, in a long sum"),
    ("decrypt", "decrypt"),
]


def load(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((ROOT / "docs/results" / name).read_text(encoding="utf-8"))
    return result


def microseconds(operation: dict[str, Any], threads: str = "1") -> float:
    return 1e6 * median(operation["seconds"][threads]) / operation["count"]


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def operation_lines(results: dict[str, Any]) -> list[str]:
    bits = results["settings"]["bits"]
    peers = {peer["name"]: microseconds(peer) for peer in results["phe"]}
    found = {(operation["scheme"], operation["name"]): operation for operation in results["operations"]}
    lines = [
        f"| {bits}-bit keys, one thread | phe | Paillier | | Okamoto-Uchiyama | |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, title in OPERATIONS:
        peer = peers[found["paillier", name]["peer"]]
        cells = [number(peer)]
        for scheme in ("paillier", "ou"):
            time = microseconds(found[scheme, name])
            cells += [number(time), f"**{number(peer / time)}x**"]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def kernel_line(results: dict[str, Any]) -> str:
    medians = {
        run["run_name"]: 1e6 / run["items_per_second"]
        for run in results["benchmarks"]
        if run["aggregate_name"] == "median"
    }
    ours, square, peer = (
        medians[name]
        for name in ("product/avx2/degree:1/bits:4096", "product/avx2/degree:2/bits:2048", "openssl/bits:4096")
    )
    return (
        f"A 4096-bit Montgomery product takes {number(ours)} µs in a batch, {number(square)} µs modulo the square of a "
        f"2048-bit number (a Paillier addition), and {number(peer)} µs in OpenSSL's `BN_mod_mul_montgomery`: "
        f"{peer / ours:.1f} and {peer / square:.1f} times as fast."
    )


def speed_section() -> str:
    small, large = load("ops_2048.json"), load("ops_3072.json")
    machine = small["machine"]
    head = (
        f"Microseconds per operation and speed relative to phe {machine['phe']} (with gmpy2) in the same run; median "
        f"of {small['settings']['repeats']}, batches of {small['settings']['count']:,}; {machine['processor']}, "
        f"{machine['cores']} cores, {machine['kernels'].split()[0]} kernels."
    )
    parts = [
        head,
        "\n".join(operation_lines(small)),
        "\n".join(operation_lines(large)),
        kernel_line(load("montgomery.json")),
    ]
    return "\n\n".join(parts)


def updated(readme: str) -> str:
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{speed_section()}\n{END}{after}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
