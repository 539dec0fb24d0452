"""The page of a run: one file of HTML with its styles and script inside, which opens without a network.

The page is a list of sections. Each makes its inner HTML from the document (document.py) and nothing else, so that the
live view can replace one section and leave the others alone. A section without anything to say is hidden.

No address outside the page is named; the Content-Security-Policy forbids the browser to ask for any. Styles and script
are allowed by their digests.
"""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

from vfxgb.report.html import Markup, policy_digest, tag
from vfxgb.report.sections import audit, cost, head, importance, ledger, protection, quality, setup, trees, worth
from vfxgb.report.words import joined, moment

SECTIONS: tuple[tuple[str, str, Callable[[dict[str, Any]], Markup]], ...] = (
    ("head", "Overview", head.render),
    ("learning", "Learning", quality.learning),
    ("worth", "Alone and together", worth.render),
    ("curves", "Calibration and ROC", quality.curves),
    ("trees", "Trees", trees.render),
    ("importance", "Importance", importance.render),
    ("time", "Time", cost.time),
    ("traffic", "Traffic", cost.traffic),
    ("ledger", "Who learned what", ledger.render),
    ("protection", "Guarantees", protection.render),
    ("audit", "Audit", audit.render),
    ("setup", "Parameters", setup.render),
)


def fragments(document: dict[str, Any]) -> dict[str, str]:
    """Section id -> its inner HTML, "" where the section has nothing to say."""
    return {key: str(make(document)) for key, _, make in SECTIONS}


def render(document: dict[str, Any], live: bool = False) -> str:
    """The whole page.

    `live`: its script opens the EventSource "events", relative to the page. Each message is a JSON object of section
    ids and new inner HTML, as `fragments` makes them. The page shows whether it is connected; it stops listening when
    the section "head" says that the run is not running any more.
    """
    run = document["run"]
    styles, script = _asset("style.css"), _asset("tree.js") + _asset("script.js")
    parts = fragments(document)
    title = f"{run['protocol'] or 'run'} {run['run'][:8]}: {run['party']}"
    return "".join(
        (
            "<!doctype html>\n",
            '<html lang="en">\n<head>\n',
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=_policy(styles, script, live)),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("meta", name="generator", content=f"vfxgb {document['vfxgb']}"),
            tag("title", f"{title} - vfxgb report"),
            f"\n<style>{styles}</style>\n</head>\n",
            tag("body", _bar(live), _navigation(parts), _main(parts), _foot(document, live)),
            f"\n<script>{script}</script>\n</html>\n",
        )
    )


def _bar(live: bool) -> Markup:
    return tag(
        "header",
        tag("a", "Skip to the report", href="#main", class_="skip"),
        tag("span", "vfxgb ", tag("span", "report"), class_="brand"),
        tag("span", "connecting", id="badge", role="status", data_badge="wait") if live else None,
        tag("button", "Dark", id="theme", type="button", hidden=True),
        class_="bar",
    )


def _navigation(parts: dict[str, str]) -> Markup:
    links = (
        tag("li", tag("a", title, href=f"#{key}"), id=f"to-{key}", hidden=not parts[key]) for key, title, _ in SECTIONS
    )
    return tag("nav", tag("ul", links), aria_label="Sections")


def _main(parts: dict[str, str]) -> Markup:
    sections = (
        tag("section", Markup(parts[key]), id=key, aria_label=title, hidden=not parts[key])
        for key, title, _ in SECTIONS
    )
    return tag("main", sections, id="main", tabindex="-1")


def _foot(document: dict[str, Any], live: bool) -> Markup:
    return tag(
        "footer",
        f"Made by vfxgb {document['vfxgb']}, {moment(document['made'])}. This page shows what "
        f"{joined(_seen_by(document))} may see of the run: think of that before you pass it on. ",
        None if live else "It asks for nothing over the network.",
    )


def _seen_by(document: dict[str, Any]) -> list[str]:
    """The parties whose view the page shows: its own, and those whose shares were given."""
    model = document["model"] or {}
    return list(dict.fromkeys([document["run"]["party"], *model.get("known", ()), *model.get("records", ())]))


def _asset(name: str) -> str:
    return files("vfxgb.report").joinpath("assets", name).read_text(encoding="utf-8")


def _policy(styles: str, script: str, live: bool) -> str:
    rules = {
        "default-src": "'none'",
        "style-src": policy_digest(styles),
        "script-src": policy_digest(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    if live:
        rules["connect-src"] = "'self'"
    return "; ".join(f"{name} {value}" for name, value in rules.items())
