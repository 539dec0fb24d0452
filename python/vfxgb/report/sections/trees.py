"""The trees: one at a time, drawn by the page's script; as tables for who has no script or does not see the drawing."""

from collections import Counter
from typing import Any

from vfxgb.model.drawing import NOT_SHARED
from vfxgb.report.charts import bar
from vfxgb.report.html import Child, Markup, json_block, markup, more, quiet, region, table, tag
from vfxgb.report.owners import badge, letter, places, style
from vfxgb.report.words import joined, number, plural

# Nodes in the tables for browsers without a script; the script makes that of any tree.
MOST_PLAIN_NODES = 600


def render(document: dict[str, Any]) -> Markup:
    """The chooser, room for the drawing, and tables; a passive party's own records."""
    model = document["model"]
    if not model:
        why = _no_trees(document["run"])
        return markup(tag("h2", "Trees"), tag("p", why)) if why else Markup()
    if "importance" not in model:
        return _records(document, model["records"])
    if not model["trees"]:
        return Markup()
    return markup(
        tag("h2", "Trees"),
        _legend(document, model),
        tag("div", _chooser(model), class_="controls", hidden=True, id="tree-controls"),
        region("Drawing of the tree", key="tree-drawing", style="scroll drawing", hidden=True),
        more("This tree as a table", tag("div", id="tree-table"), key="tree-as-table"),
        tag("noscript", _plain(document, model)),
        json_block(_data(document, model), "tree-data"),
        _left_out(model),
    )


def _no_trees(run: dict[str, Any]) -> str:
    if run["state"] == "running":
        return "No tree has been finished yet."
    if run["state"] == "finished":
        return ""
    return "There is no share of a model: the run did not finish."


def _legend(document: dict[str, Any], model: dict[str, Any]) -> Markup:
    masked = [party for party in model["parties"] if party not in model["known"]]
    text = "A row goes to yes when its value is below the threshold. Leaves add their value to the score."
    if masked:
        text += (
            f" Splits of {joined(masked)} are masked: the tree knows whose they are and under which number their owner "
            "filed them, and nothing else."
        )
    owners = [(badge(document, party), " ") for party in model["parties"]]
    return markup(tag("p", owners, class_="owners"), tag("p", text))


def _chooser(model: dict[str, Any]) -> list[Child]:
    outputs = model["outputs"]
    names = [
        f"{tree}" + (f" (round {tree // outputs}, output {tree % outputs})" if outputs > 1 else "")
        for tree in range(len(model["trees"]))
    ]
    options = (tag("option", name, value=tree) for tree, name in enumerate(names))
    buttons = {"Previous": "tree-before", "Next": "tree-after", "Unfold all": "tree-unfold", "Fold": "tree-fold"}
    return [
        tag("label", "Tree ", tag("select", options, id="tree-choice")),
        *(tag("button", name, type="button", id=key) for name, key in buttons.items()),
    ]


def _data(document: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    order = places(document)
    return {
        "parties": [
            {"name": party, "letter": letter(order[party]), "style": style(order[party])} for party in model["parties"]
        ],
        "features": model["features"],
        "gains": model["gains"],
        "trees": model["trees"],
    }


def _plain(document: dict[str, Any], model: dict[str, Any]) -> list[Markup]:
    parts, nodes = [], 0
    for tree, held in enumerate(model["trees"]):
        nodes += len(held["owner"])
        if tree and nodes > MOST_PLAIN_NODES:
            parts.append(tag("p", "Other trees need JavaScript here; `vfxgb inspect SHARE --tree N` prints any."))
            break
        rows = [_row(document, model, held, node) for node in range(len(held["owner"]))]
        head = ("node", "owner", "split", "yes", "no", "missing", "gain", "cover", "leaf value")
        parts.append(more(f"Tree {tree}", table(f"Tree {tree}", head, rows, numeric=(0, 6, 7, 8)), key=f"plain-{tree}"))
    return parts


def _row(document: dict[str, Any], model: dict[str, Any], tree: dict[str, list[Any]], node: int) -> list[Child]:
    cover = number(tree["cover"][node]) if model["gains"] else NOT_SHARED
    if tree["owner"][node] < 0:
        return [node, "", "leaf", "", "", "", "", cover, f"{tree['value'][node]:+.4g}"]
    name = tree["name"][node]
    split = f"{model['features'][name]} {_condition(tree['cut'][node])}" if name >= 0 else ""
    missing = {1: "yes", 0: "no"}.get(tree["left"][node], "")
    return [
        node,
        badge(document, model["parties"][tree["owner"][node]]),
        split or f"record {tree['record'][node]}, masked",
        tree["yes"][node],
        tree["no"][node],
        missing,
        number(tree["gain"][node]) if model["gains"] else NOT_SHARED,
        cover,
        "",
    ]


def _condition(cut: Any) -> str:
    """What a row that goes to `yes` fulfils; of a split by categories the report has it in words."""
    return cut if isinstance(cut, str) else f"< {number(cut)}"


def _cut(split: dict[str, Any]) -> str:
    """The cut point of a split, or its categories."""
    if split["cut"] is not None:
        return f"{split['cut']:.6g}"
    return f"none of {', '.join(map(str, split['right']))}"


def _left_out(model: dict[str, Any]) -> Markup:
    left = model["n_trees"] - len(model["trees"])
    text = f"{left:,} more trees are left out to keep this page small; `vfxgb inspect SHARE --tree N` draws them."
    return quiet(text) if left > 0 else Markup()


def _records(document: dict[str, Any], records: dict[str, list[dict[str, Any]]]) -> Markup:
    """A passive party's own splits: it has no trees."""
    text = "The trees are with the active party. This party keeps, of each split it owns, feature and threshold."
    own = [_own(document, party, held) for party, held in records.items()]
    return markup(tag("h2", "Own splits"), tag("p", text), own)


def _own(document: dict[str, Any], party: str, held: list[dict[str, Any]]) -> Markup:
    """How often each feature of a party is used, and every split folded away."""
    place = places(document)[party]
    counts = Counter(split["feature"] for split in held).most_common()
    used = [(name, f"{count:,}", bar(count, counts[0][1], style(place))) for name, count in counts]
    rows = [(number, split["feature"], _cut(split), _missing(split)) for number, split in enumerate(held)]
    head = ("record", "feature", "below goes to yes", "missing")
    every = table(f"Splits of {party}", head, rows, numeric=(2,))
    return markup(
        tag("h3", badge(document, party), f": {plural(len(held), 'split')}"),
        table(f"Features of {party} in use", ("feature", "splits", ""), used, numeric=(1,), wide=2) if used else None,
        more("All of them", every, key=f"splits-{place}") if rows else None,
    )


def _missing(split: dict[str, Any]) -> str:
    if split["fill"] is not None:
        return f"taken for {split['fill']:.6g}"
    return "yes" if split["missing_left"] else "no"
