"""The ledger in plain words: what can be inferred, who learned what from whom, how much of it."""

from typing import Any

from vfxgb.report.html import Child, Markup, markup, more, table, tag
from vfxgb.report.owners import badge, places
from vfxgb.report.words import plural, share, size
from vfxgb.runtime.ledger import FEW_ROWS, Opened, counted
from vfxgb.transport.messages import NOTHING

_HEAD = ("what", "from", "how much", "messages", "bytes")


def render(document: dict[str, Any]) -> Markup:
    """What follows from all messages together, then every kind of message by receiver."""
    ledger = document["ledger"]
    if ledger is None:
        return _missing(document["run"])
    receivers = {entry["receiver"] for entry in ledger["entries"]}
    return markup(
        (
            tag("h2", "Who learned what"),
            tag("p", "Every message of the run is counted here, with what its receiver learns from it."),
            _inferred(document, ledger),
            [_party(document, ledger, party) for party in places(document) if party in receivers],
        )
    )


def _missing(run: dict[str, Any]) -> Markup:
    text = (
        "The ledger is written when the run ends. What the messages reveal by design stands under Guarantees."
        if run["state"] == "running"
        else "There is no ledger: no message was counted before the run ended."
    )
    return markup((tag("h2", "Who learned what"), tag("p", text)))


def _inferred(document: dict[str, Any], ledger: dict[str, Any]) -> Markup:
    """What sums, leaves and releases add up to."""
    items = [_small_sums(document, party, count) for party, count in ledger["small_sums"].items()]
    items += [_opened(document, party, opened) for party, opened in ledger.get("opened", {}).items()]
    items += [_purity(document, party, leaves) for party, leaves in ledger["purity"].items()]
    items += [tag("li", note) for note in ledger["notes"]]
    # Ledgers of older versions are about one run and do not say so.
    items += [_begun(document, party, counts) for party, counts in ledger.get("begun", {}).items() if counts[1]]
    account = ledger.get("account", "")
    items += [tag("li", account[:1].upper() + account[1:])] if account else []
    released = [*ledger["privacy"].splitlines(), *ledger.get("all_runs", "").splitlines()]
    return markup(
        (
            (tag("h3", "All together"), tag("ul", items)) if items else None,
            (tag("h3", "Differential privacy, totals"), tag("ul", (tag("li", line) for line in released)))
            if released
            else None,
        )
    )


def _small_sums(document: dict[str, Any], party: str, count: int) -> Markup:
    if not count:
        return tag("li", badge(document, party), f" showed no sum over fewer than {FEW_ROWS} rows.")
    text = f" showed {count:,} sums over fewer than {FEW_ROWS} rows, from which rows can be inferred."
    return tag("li", badge(document, party), text)


def _begun(document: dict[str, Any], party: str, counts: list[int]) -> Markup:
    text = (
        f" began {plural(counts[0], 'round')}, {counts[1]:,} of them again after the run broke off; each showed its "
        "sums, possibly for other gradients."
    )
    return tag("li", badge(document, party), text)


def _opened(document: dict[str, Any], party: str, opened: dict[str, int]) -> Markup:
    return tag("li", badge(document, party), f" {Opened(opened['equations'], opened['rows']).text()}.")


def _purity(document: dict[str, Any], party: str, leaves: dict[str, Any]) -> Markup:
    if leaves["purity"] is None:
        return tag("li", badge(document, party), " knows the rows of no leaf of the first tree.")
    text = (
        f" knows the rows of first-tree leaves with {leaves['rows']:,} of {leaves['total']:,} training rows; on "
        f"average {share(leaves['purity'])} of a leaf's rows have the same label."
    )
    return tag("li", badge(document, party), text)


def _party(document: dict[str, Any], ledger: dict[str, Any], party: str) -> Markup:
    """What one party learned: what was counted first, what told it nothing folded away."""
    entries = [entry for entry in ledger["entries"] if entry["receiver"] == party]
    telling = [entry for entry in entries if entry["reveals"] != NOTHING.what]
    telling.sort(key=lambda entry: entry["amount"] == 0)
    silent = [entry for entry in entries if entry["reveals"] == NOTHING.what]
    messages, total = sum(entry["messages"] for entry in entries), sum(entry["bytes"] for entry in entries)
    return markup(
        (
            tag("h3", badge(document, party), " learned"),
            _table(document, f"What {party} learned", telling),
            more(
                f"{plural(len(silent), 'kind')} of message told it nothing about the data",
                _table(document, f"Messages that told {party} nothing", silent),
                key=f"silent-{places(document)[party]}",
            )
            if silent
            else None,
            tag("p", f"{plural(messages, 'message')}, {size(total)} in all.", class_="quiet"),
        )
    )


def _table(document: dict[str, Any], caption: str, entries: list[dict[str, Any]]) -> Markup:
    rows = [_row(document, entry) for entry in entries]
    return table(caption, _HEAD, rows, numeric=(2, 3, 4), stack=True) if rows else Markup()


def _row(document: dict[str, Any], entry: dict[str, Any]) -> list[Child]:
    what = entry["reveals"]
    return [
        (what[:1].upper() + what[1:], tag("span", entry["message"], class_="tagname")),
        badge(document, entry["sender"]),
        _amount(entry["amount"], entry["unit"]),
        f"{entry['messages']:,}",
        size(entry["bytes"]) if entry["bytes"] else "",
    ]


def _amount(amount: int, unit: str) -> str:
    if not unit:
        return ""
    return counted(amount, unit) if amount else "none"
