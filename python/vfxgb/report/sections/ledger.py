"""The ledger in plain words: who learned what, from whom, how much of it."""

from typing import Any

from vfxgb.report.html import Child, Markup, markup, more, table, tag
from vfxgb.report.owners import badge
from vfxgb.report.words import plural, share, size
from vfxgb.transport.messages import NOTHING
from vfxgb.tree.disclosure import FEW_ROWS


def render(document: dict[str, Any]) -> Markup:
    """By receiver: what tells something first, what tells nothing folded away."""
    ledger = document["ledger"]
    if ledger is None:
        text = "The ledger is written when the run ends; until then, see what the messages reveal by design, below."
        return (
            markup((tag("h2", "Who learned what"), tag("p", text)))
            if document["run"]["state"] == "running"
            else Markup()
        )
    receivers = list(dict.fromkeys(entry["receiver"] for entry in ledger["entries"]))
    return markup(
        (
            tag("h2", "Who learned what"),
            tag("p", "Every message of the run is counted here, with what its receiver learns from it."),
            [_party(document, ledger, party) for party in receivers],
            _warnings(document, ledger),
            _privacy(ledger["privacy"]),
            _notes(ledger["notes"]),
        )
    )


def _party(document: dict[str, Any], ledger: dict[str, Any], party: str) -> Markup:
    entries = [entry for entry in ledger["entries"] if entry["receiver"] == party]
    telling = [entry for entry in entries if entry["reveals"] != NOTHING.what]
    silent = [entry for entry in entries if entry["reveals"] == NOTHING.what]
    total = sum(entry["bytes"] for entry in entries)
    messages = sum(entry["messages"] for entry in entries)
    key = (
        f"silent-{document['run']['parties'].index(party)}"
        if party in document["run"]["parties"]
        else f"silent-{party}"
    )
    return markup(
        (
            tag("h3", badge(document, party), " learned"),
            table(
                f"What {party} learned",
                _HEAD,
                [_row(document, entry) for entry in telling],
                numeric=(2, 3, 4),
                stack=True,
            ),
            more(
                f"{plural(len(silent), 'kind')} of message that told it nothing about the data",
                table(
                    f"Messages that told {party} nothing",
                    _HEAD,
                    [_row(document, entry) for entry in silent],
                    numeric=(2, 3, 4),
                    stack=True,
                ),
                key=key,
            )
            if silent
            else None,
            tag("p", f"{plural(messages, 'message')}, {size(total)} in all.", class_="quiet"),
        )
    )


_HEAD = ("what", "from", "how much", "messages", "bytes")


def _row(document: dict[str, Any], entry: dict[str, Any]) -> list[Child]:
    what = entry["reveals"]
    return [
        (what[:1].upper() + what[1:], tag("span", entry["message"], class_="tagname")),
        badge(document, entry["sender"]),
        f"{entry['amount']:,} {entry['unit']}" if entry["unit"] else "",
        f"{entry['messages']:,}",
        size(entry["bytes"]) if entry["bytes"] else "",
    ]


def _warnings(document: dict[str, Any], ledger: dict[str, Any]) -> Markup:
    found: list[Markup] = []
    for party, count in ledger["small_sums"].items():
        found.append(
            tag(
                "li",
                badge(document, party),
                f" showed {count:,} sums over fewer than {FEW_ROWS} rows, from which rows can be inferred."
                if count
                else f" showed no sum over fewer than {FEW_ROWS} rows.",
            )
        )
    for party, leaves in ledger["purity"].items():
        if leaves["purity"] is None:
            found.append(tag("li", badge(document, party), " knows the rows of no leaf of the first tree."))
        else:
            found.append(
                tag(
                    "li",
                    badge(document, party),
                    f" knows the rows of first-tree leaves with {leaves['rows']:,} of "
                    f"{leaves['total']:,} training rows; on average {share(leaves['purity'])} of a leaf's rows have "
                    "the same label.",
                )
            )
    return markup((tag("h3", "What can be inferred"), tag("ul", found))) if found else Markup()


def _privacy(text: str) -> Markup:
    if not text:
        return Markup()
    return markup((tag("h3", "Differential privacy"), tag("ul", (tag("li", line) for line in text.splitlines()))))


def _notes(notes: list[str]) -> Markup:
    return markup((tag("h3", "Notes"), tag("ul", (tag("li", note) for note in notes)))) if notes else Markup()
