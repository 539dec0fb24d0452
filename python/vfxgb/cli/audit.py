"""`vfxgb audit`: attack a recorded run and print what its parties could have learned."""

from collections.abc import Sequence

from vfxgb.audit import Transcript, audit


def run(path: str, attacks: Sequence[str] | None, json_path: str | None, plot_path: str | None) -> int:
    """Print the report, and write it where asked. Exit code 0, whatever was found."""
    report = audit(Transcript.load(path), attacks)
    print(report.text())
    if json_path is not None:
        report.save_json(json_path)
    if plot_path is not None:
        report.save_plot(plot_path)
    return 0
