"""What the run cost: seconds by phase and party, pace by round, bytes by peer."""

from typing import Any

from vfxgb.report.charts import Frame, Series, bar, line_chart
from vfxgb.report.html import Child, Markup, markup, more, table, tag
from vfxgb.report.owners import badge, places, style
from vfxgb.report.phases import phase_words, stages
from vfxgb.report.words import duration, plural, share, size


def time(document: dict[str, Any]) -> Markup:
    """Seconds by phase, and by round."""
    run = document["run"]
    tables = [_phases(document, party, phases) for party, phases in run["timings"].items() if phases]
    pace = _pace(run["pace"])
    if not tables and not pace and not run["seconds"]:
        return Markup()
    rounds = f", {plural(run['rounds'], 'round')}" if run["rounds"] else ""
    return markup(
        tag("h2", "Time"),
        tag("p", f"{duration(run['seconds'])} in all{rounds}.") if run["seconds"] else None,
        _stages(run),
        tag("div", pace, class_="charts") if pace else None,
        tables,
        _operations(run["operations"]),
    )


def traffic(document: dict[str, Any]) -> Markup:
    """Bytes and messages by peer."""
    peers = document["run"]["traffic"]
    if not peers:
        return Markup()
    most = max(max(counts["sent_bytes"], counts["received_bytes"]) for counts in peers.values())
    wired = any(counts["wire_sent_bytes"] or counts["wire_received_bytes"] for counts in peers.values())
    own, order = document["run"]["party"], places(document)
    rows = [
        (
            (f"{way} ", badge(document, peer)),
            size(counts[f"{kind}_bytes"]),
            bar(counts[f"{kind}_bytes"], most, style(order.get(peer if way == "from" else own, 0))),
            f"{counts[f'{kind}_messages']:,}",
            *((size(counts[f"wire_{kind}_bytes"]),) if wired else ()),
        )
        for peer, counts in peers.items()
        for way, kind in (("to", "sent"), ("from", "received"))
    ]
    trips = sum(counts["round_trips"] for counts in peers.values())
    said = f"{plural(trips, 'round trip')} in all. " if trips else ""
    said += "On the wire, messages are compressed where that was agreed on, and framed. " if wired else ""
    keys = ", ".join(f"{peer} {counts['key_exchange']}" for peer, counts in peers.items() if counts["key_exchange"])
    said += f"Keys of the connections were agreed on by: {keys}." if keys else ""
    head = ("peer", "bytes", "", "messages", *(("on the wire",) if wired else ()))
    return markup(tag("h2", "Traffic"), tag("p", said), table("Traffic by peer", head, rows, numeric=(1, 3, 4), wide=2))


def _stages(run: dict[str, Any]) -> Markup:
    """What happened in which order, for who asks no more."""
    found = stages(run) if run["seconds"] else []
    rows = [(what, duration(seconds), share(seconds / run["seconds"])) for what, seconds in found]
    return (
        table("What happened", ("what happened", "time", "share"), rows, numeric=(1, 2)) if len(rows) > 1 else Markup()
    )


def _phases(document: dict[str, Any], party: str, phases: dict[str, float]) -> Markup:
    ordered = sorted(phases.items(), key=lambda item: -item[1])
    total, most = sum(phases.values()), ordered[0][1]
    colour = style(places(document).get(party, 0))
    rows = [
        (
            _phase(phase),
            duration(seconds),
            bar(seconds, most, f"{colour} waiting" if phase == "wait" else colour),
            share(seconds / total) if total else "",
        )
        for phase, seconds in ordered
    ]
    return markup(
        tag("h3", "Phases at ", badge(document, party)),
        table(f"Seconds by phase at {party}", ("phase", "time", "", "share"), rows, numeric=(1, 3), wide=2),
    )


def _phase(phase: str) -> Child:
    words = phase_words(phase)
    return (words[:1].upper() + words[1:], tag("span", phase, class_="tagname")) if words else phase


def _pace(pace: dict[str, list[float]]) -> list[Markup]:
    """Seconds and bytes of each round, from totals at the ends of rounds."""
    charts = []
    for key, name, values in (("seconds", "Seconds a round", duration), ("bytes", "Bytes a round", size)):
        totals = pace.get(key, [])
        if not totals:
            continue
        each = [b - a for a, b in zip([0.0, *totals], totals, strict=False)]
        middle = sorted(each)[len(each) // 2]
        frame = Frame(
            f"pace-{key}",
            name,
            f"Half of the rounds took at most {values(middle)}; {values(totals[-1])} in all.",
            "round",
            key,
            y_range=(0.0, max(each) or 1.0),
            whole=True,
            values=values,
            ticks=(lambda value, _: size(value)) if key == "bytes" else None,
        )
        charts.append(line_chart(frame, [Series(key, [float(i) for i in range(len(each))], each)]))
    return charts


def _operations(counts: dict[str, int]) -> Markup:
    if not counts:
        return Markup()
    rows = [(what, f"{count:,}") for what, count in counts.items()]
    return more("What was computed", table("Operations", ("operation", "count"), rows, numeric=(1,)), key="operations")
