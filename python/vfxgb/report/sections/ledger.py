"""The ledger in plain words: what can be inferred, who learned what from whom, how much of it."""

from typing import Any

from vfxgb.report.html import Child, Markup, bullets, markup, more, quiet, table, tag
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
        tag("h2", "Who learned what"),
        tag("p", "Every message of the run is counted here, with what its receiver learns from it."),
        _inferred(document, ledger),
        [_party(document, ledger, party) for party in places(document) if party in receivers],
    )


def _missing(run: dict[str, Any]) -> Markup:
    text = (
        "The ledger is written when the run ends. What the messages reveal by design stands under Guarantees."
        if run["state"] == "running"
        else "There is no ledger: no message was counted before the run ended."
    )
    return markup(tag("h2", "Who learned what"), tag("p", text))


def _inferred(document: dict[str, Any], ledger: dict[str, Any]) -> Markup:
    """What sums, leaves and releases add up to."""
    # Ledgers of older versions lack some of these.
    tellers = (
        ("small_sums", _small_sums),
        ("opened", lambda opened: f" {Opened(opened['equations'], opened['rows']).text()}."),
        ("purity", _purity),
    )
    items: list[Child] = [
        (badge(document, party), text(value)) for kind, text in tellers for party, value in ledger.get(kind, {}).items()
    ]
    items += ledger["notes"]
    items += [
        (badge(document, party), _begun(*counts)) for party, counts in ledger.get("begun", {}).items() if counts[1]
    ]
    account = ledger.get("account", "")
    items += [account[:1].upper() + account[1:]] if account else []
    released = [*ledger["privacy"].splitlines(), *ledger.get("all_runs", "").splitlines()]
    return markup(
        (tag("h3", "All together"), bullets(items)) if items else None,
        (tag("h3", "Differential privacy, totals"), bullets(released)) if released else None,
    )


def _small_sums(count: int) -> str:
    if not count:
        return f" showed no sum over fewer than {FEW_ROWS} rows."
    return f" showed {count:,} sums over fewer than {FEW_ROWS} rows, from which rows can be inferred."


def _begun(rounds: int, again: int) -> str:
    return (
        f" began {plural(rounds, 'round')}, {again:,} of them again after the run broke off; each showed its sums, "
        "possibly for other gradients."
    )


def _purity(leaves: dict[str, Any]) -> str:
    if leaves["purity"] is None:
        return " knows the rows of no leaf of the first tree."
    return (
        f" knows the rows of first-tree leaves with {leaves['rows']:,} of {leaves['total']:,} training rows; on "
        f"average {share(leaves['purity'])} of a leaf's rows have the same label."
    )


def _party(document: dict[str, Any], ledger: dict[str, Any], party: str) -> Markup:
    """What one party learned: what was counted first, what told it nothing folded away."""
    entries = [entry for entry in ledger["entries"] if entry["receiver"] == party]
    telling = [entry for entry in entries if entry["reveals"] != NOTHING.what]
    telling.sort(key=lambda entry: entry["amount"] == 0)
    silent = [entry for entry in entries if entry["reveals"] == NOTHING.what]
    messages, total = sum(entry["messages"] for entry in entries), sum(entry["bytes"] for entry in entries)
    return markup(
        tag("h3", badge(document, party), " learned"),
        _table(document, f"What {party} learned", telling),
        more(
            f"{plural(len(silent), 'kind')} of message told it nothing about the data",
            _table(document, f"Messages that told {party} nothing", silent),
            key=f"silent-{places(document)[party]}",
        )
        if silent
        else None,
        quiet(f"{plural(messages, 'message')}, {size(total)} in all."),
    )


def _table(document: dict[str, Any], caption: str, entries: list[dict[str, Any]]) -> Markup:
    rows = [_row(document, entry) for entry in entries]
    return table(caption, _HEAD, rows, numeric=(2, 3, 4), stack=True) if rows else Markup()


def _row(document: dict[str, Any], entry: dict[str, Any]) -> list[Child]:
    what = entry["reveals"]
    return [
        (what[:1].upper() + what[1:], tag("span", entry["message"], class_="tagname")),
        badge(document, entry["sender"]),
        (counted(entry["amount"], entry["unit"]) if entry["amount"] else "none") if entry["unit"] else "",
        f"{entry['messages']:,}",
        size(entry["bytes"]) if entry["bytes"] else "",
    ]
