"""The page of a live view before there is a run to show: it loads itself again every second."""

from vfxgb.report.html import policy_digest

STYLE = "body{font:1.1rem/1.5 system-ui,sans-serif;margin:20vh auto;max-width:32rem;padding:0 1.5rem}"


def waiting_page() -> str:
    """The page. It asks for nothing but itself."""
    policy = f"default-src 'none'; style-src {policy_digest(STYLE)}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta http-equiv="refresh" content="1">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>vfxgb: waiting</title>\n<style>{STYLE}</style>\n</head>\n"
        "<body><main><h1>Waiting for the others</h1>\n"
        "<p>The run is shown here as soon as the other parties have answered.</p></main></body>\n</html>\n"
    )
