"""`python -m vfxgb.party.healthy URL...`: ends with 0 if one of the addresses on this machine answers, else with 1.

For health checks of containers, whose images have no other client. Any answer counts that is not a server's error: an
endpoint whose passive party is away answers 503, and is not healthy.
"""

import http.client
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

from vfxgb.party.web import is_loopback

SECONDS = 4.0


def answers(url: str) -> bool:
    """Return whether GET of this URL gives an answer below 500."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=SECONDS)
    try:
        connection.request("GET", parts.path or "/")
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def main(urls: Sequence[str]) -> int:
    """Try the addresses one after the other. Other machines are not asked."""
    odd = [url for url in urls if urlsplit(url).scheme != "http" or not is_loopback(urlsplit(url).hostname or "")]
    if odd or not urls:
        print(
            f"vfxgb.party.healthy: found {' '.join(odd) or 'nothing'}, wanted http://127.0.0.1:PORT/PATH",
            file=sys.stderr,
        )
        return 2
    return 0 if any(answers(url) for url in urls) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
