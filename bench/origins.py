"""Where the numbers of a page come from: for each file of docs/results the command that made it, and the machine.

A page says commit and machine as far as the file has them; files made before commits were recorded have none.
"""

from collections.abc import Mapping
from typing import Any

# file of docs/results -> the command that writes it; PROTOCOLS: those that the file's settings name
COMMANDS = {
    "ops_2048.json": "vfxgb bench ops --bits 2048 --json docs/results/ops_2048.json",
    "ops_3072.json": "vfxgb bench ops --bits 3072 --json docs/results/ops_3072.json",
    "paths_2048.json": "vfxgb bench ops --bits 2048 --count 2000 --paths avx2,ifma --json docs/results/paths_2048.json",
    "paths_3072.json": "vfxgb bench ops --bits 3072 --count 2000 --paths avx2,ifma --json docs/results/paths_3072.json",
    "montgomery.json": "build/release/bench/cpp/bench_montgomery --benchmark_out=docs/results/montgomery.json "
    "--benchmark_filter='^(product/avx2|openssl)' --benchmark_repetitions=5 --benchmark_report_aggregates_only=true",
    "train_give_credit.json": "vfxgb bench train --data give_credit --json docs/results/train_give_credit.json",
    "train_paths.json": "vfxgb bench train --data give_credit --configs paillier-djn --paths avx2,ifma "
    "--json docs/results/train_paths.json",
    "train_default_credit.json": "vfxgb bench train --data default_credit --trees 6 "
    "--json docs/results/train_default_credit.json",
    "train_wide.json": "vfxgb bench train --data synthetic --rows 30000 --features 5 50 --bins 64 "
    "--json docs/results/train_wide.json",
    "ablation_give_credit.json": "vfxgb bench train --data give_credit --ablation "
    "--json docs/results/ablation_give_credit.json",
    "linear.json": "vfxgb bench train --linear --json docs/results/linear.json",
    "protocols_default_credit.json": "vfxgb bench train --data default_credit --trees 6 "
    "--configs paillier-djn,ou-short --protocols PROTOCOLS --json docs/results/protocols_default_credit.json",
    "protocols_adult.json": "vfxgb bench train --data adult --trees 6 --configs paillier-djn --protocols PROTOCOLS "
    "--json docs/results/protocols_adult.json",
    "protocols_give_credit.json": "vfxgb bench train --data give_credit --configs paillier-djn --protocols PROTOCOLS "
    "--json docs/results/protocols_give_credit.json",
    "smm.json": "python bench/e2e/smm.py",
    "overflow.json": "python bench/e2e/overflow.py",
    "solve.json": "python bench/e2e/solve.py",
    "row_bits.json": "python bench/e2e/row_bits.py",
    "won_columns.json": "python bench/e2e/won_columns.py",
    "split_rules.json": "python bench/e2e/split_rules.py --json docs/results/split_rules.json",
    "sealed_auc.json": "python bench/e2e/sealed_auc.py --json docs/results/sealed_auc.json",
    "refused_winners.json": "python bench/e2e/refused_winners.py --rows 10000 --trees 20 --seeds 1 "
    "--json docs/results/refused_winners.json",
    "side_by_side.json": "python bench/e2e/side_by_side.py --json docs/results/side_by_side.json",
    "psi.json": "python bench/e2e/psi.py --passives 1 2 --json docs/results/psi.json",
    "network.json": "python bench/e2e/network.py --json docs/results/network.json",
    "hidden_prediction.json": "python bench/e2e/hidden_prediction.py --json docs/results/hidden_prediction.json",
    "plain_steps.json": "python bench/e2e/plain_steps.py --json docs/results/plain_steps.json",
    "sealed_steps.json": "python bench/e2e/sealed_steps.py --shapes give_credit synthetic --trees 3 "
    "--json docs/results/sealed_steps.json",
    "lattice_noise.json": "python bench/e2e/lattice_noise.py --json docs/results/lattice_noise.json",
    "noise.json": "build/release/bench/cpp/bench_noise --benchmark_out=docs/results/noise.json",
    "noise_cost.json": "python bench/e2e/noise_cost.py",
    "peers.json": "vfxgb bench peers --out docs/results",
    "scale.json": "vfxgb bench scale --out-of-core --memory-rows 250000,1000000,4000000,16000000 "
    "--json docs/results/scale.json",
    "scale_ot_shares.json": "vfxgb bench scale --protocol ot_shares --parts out-of-core "
    "--json docs/results/scale_ot_shares.json",
    "scale_sealed.json": "vfxgb bench scale --protocol sealed --parts out-of-core --large-rows 2000000 --features 10 "
    "--memory-limit 1GB --json docs/results/scale_sealed.json",
    "demo.txt": "vfxgb demo > docs/results/demo.txt",
}


def origin(name: str, results: Mapping[str, Any]) -> str:
    """One line under a table: by which command a file of results was made, on which machine, at which commit."""
    protocols = ",".join(results.get("settings", {}).get("protocols", ()))
    command = COMMANDS[name].partition(" --json ")[0].replace("PROTOCOLS", protocols)
    machine = results.get("machine", {})
    return f"Made by `{command}`{_place(machine)}{at_commit(machine)}."


def _place(machine: Mapping[str, str]) -> str:
    if "processor" not in machine:
        return ""
    return f" on {machine['processor']}, {machine['cores']} cores, {machine['kernels'].split()[0]} kernels"


def at_commit(machine: Mapping[str, str]) -> str:
    """The commit that was measured, to be added to a sentence; nothing where it was not recorded."""
    return f", commit {machine['commit']}" if machine.get("commit", "unknown") != "unknown" else ""
