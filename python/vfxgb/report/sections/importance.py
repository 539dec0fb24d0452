"""How much each party and each known feature contributes."""

from typing import Any

from vfxgb.report.charts import bar
from vfxgb.report.html import Markup, markup, quiet, table, tag
from vfxgb.report.owners import badge, badges, places, style
from vfxgb.report.words import number, share

# Features in the table; the rest is summed in its last row.
MOST_FEATURES = 40


def render(document: dict[str, Any]) -> Markup:
    """Tables of importance, empty for a share without trees."""
    model = document["model"]
    if not model or "importance" not in model:
        return Markup()
    parties, features = model["importance"]["parties"], model["importance"]["features"]
    if not model["gains"]:
        return _splits(document, features)
    masked = [party for party in parties if party not in model["known"] and parties[party]["splits"]]
    why = " are masked: which of them the trees use is known to their owner."
    return markup(
        tag("h2", "Importance"),
        tag("p", "By total gain: how much the splits lowered the training loss."),
        _parties(document, parties) if len(parties) > 1 else None,
        _features(document, features),
        quiet("Features of ", badges(document, masked), why) if masked else None,
    )


def _parties(document: dict[str, Any], parties: dict[str, dict[str, float]]) -> Markup:
    order = places(document)
    most = max(gains["share_of_gain"] for gains in parties.values())
    rows = [
        (
            badge(document, party),
            share(gains["share_of_gain"]),
            bar(gains["share_of_gain"], most, style(order[party])),
            number(gains["total_gain"]),
            f"{int(gains['splits']):,}",
        )
        for party, gains in parties.items()
    ]
    return table("Importance by party", ("party", "of all gain", "", "gain", "splits"), rows, numeric=(1, 3, 4), wide=2)


def _features(document: dict[str, Any], features: dict[str, dict[str, dict[str, float]]]) -> Markup:
    order, held = places(document), _ranked(features, "total_gain")
    if not held:
        return tag("p", "No split uses a feature of a party whose share is here.")
    several = len(document["model"]["parties"]) > 1
    head = ("feature", *(("owner",) if several else ()), "gain", "", "splits")
    wide = head.index("")
    rows = [
        (
            name,
            *((badge(document, party),) if several else ()),
            number(gain),
            bar(gain, held[0][0], style(order.get(party, 0))),
            f"{splits:,}",
        )
        for gain, splits, party, name in held[:MOST_FEATURES]
    ]
    rest = [gain for gain, *_ in held[MOST_FEATURES:]]
    return markup(
        tag("h3", "By feature"),
        table("Importance by feature", head, rows, numeric=(wide - 1, wide + 1), wide=wide),
        quiet(f"{len(rest)} more features with a gain of {number(sum(rest))} in all.") if rest else None,
    )


def _splits(document: dict[str, Any], features: dict[str, dict[str, dict[str, float]]]) -> Markup:
    """Rank features by number of splits, where gains are not known."""
    order, held = places(document), _ranked(features, "splits")
    if not held:
        return Markup()
    rows = [
        (name, f"{count:,}", bar(count, held[0][1], style(order.get(party, 0))))
        for _, count, party, name in held[:MOST_FEATURES]
    ]
    return markup(
        tag("h2", "Importance"),
        tag("p", "By number of splits: gains are not shared with users."),
        table("Splits by feature", ("feature", "splits", ""), rows, numeric=(1,), wide=2),
    )


def _ranked(features: dict[str, dict[str, dict[str, float]]], by: str) -> list[tuple[float, int, str, str]]:
    """(value of `by`, splits, party, feature) of every feature in use, the largest value first."""
    held = [
        (gains[by], int(gains["splits"]), party, name)
        for party, named in features.items()
        for name, gains in named.items()
    ]
    return sorted(held, key=lambda entry: -entry[0])
