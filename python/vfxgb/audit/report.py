"""The result of an audit: a table for the terminal, JSON, and a plot."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vfxgb.audit.claims import ERRORS, Finding, mean_finding
from vfxgb.errors import MissingPackageError
from vfxgb.files import write_atomically

FORMAT = "vfxgb audit"
VERSION = 1


@dataclass(frozen=True)
class NotRun:
    """An attack that this run gave nothing to, and why."""

    attack: str
    why: str


@dataclass(frozen=True)
class AuditReport:
    """All findings, one per judged claim; the attacks that did not apply; what attacks left out for cost."""

    protocol: str
    findings: tuple[Finding, ...]
    not_run: tuple[NotRun, ...]
    remarks: dict[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> list[Finding]:
        """One finding per attack, attacker, victim, target and round."""
        return _grouped(self.findings, lambda finding: finding.round)

    def of(self, attack: str) -> list[Finding]:
        """The summary of one attack."""
        return [finding for finding in self.summary if finding.attack == attack]

    def text(self) -> str:
        """The table: who learns what, success next to the guess, the verdict in words. Later rounds are averaged."""
        lines = [f"audit of a run of protocol {self.protocol}", ""]
        shown = _grouped(self.findings, lambda finding: min(finding.round, 1))
        if shown:
            head = ("attack", "attacker", "learns", "of", "round", "claims", "success", "guess", "verdict")
            lines += _table([head, *(_cells(finding) for finding in shown)])
            lines += ["", f"guess: of a party that saw nothing; better means by more than {ERRORS:g} standard errors"]
            details = [
                f"  {finding.attack}, {finding.attacker} on {finding.victim}: {finding.detail}"
                for finding in shown
                if finding.detail
            ]
            lines += ["", "details", *dict.fromkeys(details)] if details else []
        else:
            lines.append("no attack applies to this run")
        if self.remarks:
            lines += ["", "left out for cost", *(f"  {name}: {text}" for name, text in self.remarks.items())]
        if self.not_run:
            reasons: dict[str, list[str]] = {}
            for attack in self.not_run:
                reasons.setdefault(attack.why, []).append(attack.attack)
            lines += ["", "not run", *(f"  {', '.join(names)}: {why}" for why, names in reasons.items())]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """What `save_json` writes."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "protocol": self.protocol,
            "summary": [_plain(finding) for finding in self.summary],
            "findings": [_plain(finding) for finding in self.findings],
            "not_run": [asdict(attack) for attack in self.not_run],
            "remarks": self.remarks,
        }

    def save_json(self, path: str | Path) -> None:
        """Write everything as JSON, atomically. Raises OSError."""
        write_atomically(Path(path), (json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n").encode())

    def save_plot(self, path: str | Path) -> None:
        """Write bars of success next to guess, in the format of the file's name (png, svg, pdf).

        Raises MissingPackageError without matplotlib, OSError.
        """
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingPackageError(
                "plotting an audit: matplotlib is not installed; pip install 'vfxgb[audit]'"
            ) from None
        summary = self.summary
        figure = Figure(figsize=(8.0, 1.2 + 0.45 * max(1, len(summary))))
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for place, finding in enumerate(summary):
            axes.barh(place - 0.2, finding.success, 0.4, color="#b2182b" if finding.better else "#92c5de")
            axes.barh(place + 0.2, finding.guess, 0.4, color="#bbbbbb")
        names = [
            f"{finding.attack}: {finding.attacker} on {finding.target} of {finding.victim}, round {finding.rounds}"
            for finding in summary
        ]
        axes.set_yticks(range(len(summary)), names, fontsize=7)
        axes.invert_yaxis()
        axes.set_xlim(0.0, 1.0)
        axes.set_xlabel("share recovered (red: better than guessing), grey: the guess of who saw nothing")
        axes.set_title(f"audit of protocol {self.protocol}", fontsize=9)
        suffix = Path(path).suffix.lower().lstrip(".")
        if suffix not in figure.canvas.get_supported_filetypes():
            known = ", ".join(sorted(figure.canvas.get_supported_filetypes()))
            raise OSError(f"plotting an audit: found file name {path}, wanted one that ends in one of {known}")
        figure.savefig(path, bbox_inches="tight", dpi=150)


def _grouped(findings: Iterable[Finding], part: Callable[[Finding], int]) -> list[Finding]:
    """One finding per attack, attacker, victim, target and `part`, in that order."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.attack, finding.attacker, finding.victim, finding.target, part(finding)), []).append(
            finding
        )
    return [mean_finding(group) for _, group in sorted(groups.items())]


def _plain(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "margin": finding.margin, "better": finding.better, "verdict": finding.verdict}


def _cells(finding: Finding) -> tuple[str, ...]:
    return (
        finding.attack,
        finding.attacker,
        finding.target,
        finding.victim,
        finding.rounds,
        str(finding.claims),
        f"{finding.success:.4f}",
        f"{finding.guess:.4f}",
        finding.verdict,
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
