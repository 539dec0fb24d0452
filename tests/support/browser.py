"""A real browser for tests: Chromium or Chrome without a window, spoken to by the DevTools protocol over two pipes.

No driver and no package is needed, nothing is downloaded, and no port is opened. What a page asks the network for, and
what it says on its console, is kept. Messages: one JSON object each, ended by a zero byte.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DEADLINE = 30.0
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
)
# The browser reads commands from descriptor 3 and answers on 4; these two may be in use by other things here.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    " ": (32, " "),
    "ArrowDown": (40, ""),
    "End": (35, ""),
}
SHIFT = 8


def find_browser() -> str | None:
    """The program: what VFXGB_BROWSER names, or what is on the path."""
    given = os.environ.get("VFXGB_BROWSER")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


class AnotherPageError(Exception):
    """The page that was asked has made room for another one meanwhile."""


class Browser:
    """A browser of its own, with an empty profile in `folder`, from construction to `close`."""

    def __init__(self, program: str, folder: Path) -> None:
        there, write = os.pipe()
        read, here = os.pipe()
        self._write, self._read = write, read
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        options = [*OPTIONS, f"--user-data-dir={folder}", "about:blank"]
        self._log = (folder.parent / f"{folder.name}.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", LAUNCH, str(there), str(here), program, *options],
            pass_fds=(there, here),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        os.close(there)
        os.close(here)

    def page(self) -> "Page":
        """A new tab."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        return Page(self, session)

    def call(self, method: str, params: dict[str, Any] | None = None, session: str = "") -> dict[str, Any]:
        """Have something done and wait for its result; events that come meanwhile are kept."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + DEADLINE
        while True:
            answer = self._next(end - time.monotonic())
            assert answer is not None, f"{method}: the browser does not answer"
            if answer.get("id") == number:
                if "navigated or closed" in answer.get("error", {}).get("message", ""):
                    raise AnotherPageError
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def listen(self, seconds: float) -> None:
        """Take in events for a while, until none has come for so long."""
        while self._next(seconds) is not None:
            pass

    def _next(self, seconds: float) -> dict[str, Any] | None:
        end = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser is gone"
            self._buffer += piece
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def close(self) -> None:
        """End it, and everything it started."""
        with suppress(AssertionError, OSError):
            self.call("Browser.close")
        os.close(self._write)
        try:
            self._process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(DEADLINE)
        os.close(self._read)
        self._log.close()


class Page:
    """A tab. `problems`: what its console and its scripts complained about; `requests`: addresses it asked for."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, params, self._session)

    def _events(self, method: str) -> list[dict[str, Any]]:
        self._browser.listen(0.0)
        return [
            one["params"]
            for one in self._browser.events
            if one.get("sessionId") == self._session and one["method"] == method
        ]

    @property
    def problems(self) -> list[str]:
        """Errors and warnings, as text."""
        found = [str(one["exceptionDetails"]) for one in self._events("Runtime.exceptionThrown")]
        said = self._events("Runtime.consoleAPICalled")
        found += [str(one["args"]) for one in said if one["type"] in ("error", "warning", "assert")]
        entries = [one["entry"] for one in self._events("Log.entryAdded")]
        found += [f"{one['text']} {one.get('url', '')}" for one in entries if one["level"] in ("error", "warning")]
        return found

    @property
    def requests(self) -> list[str]:
        """Everything that was asked for, the page itself included."""
        return [one["request"]["url"] for one in self._events("Network.requestWillBeSent")]

    def screen(self, width: int, dark: bool, height: int = 900) -> None:
        """The size of the screen in CSS pixels, and whether the system is set to dark."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self._call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def scripts(self, on: bool) -> None:
        """Whether pages that are opened from now on may run scripts."""
        self._call("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, url: str) -> None:
        """Load a page, to the end."""
        loaded = len(self._events("Page.loadEventFired"))
        error = self._call("Page.navigate", url=url).get("errorText")
        assert not error, f"{url}: {error}"
        end = time.monotonic() + DEADLINE
        while len(self._events("Page.loadEventFired")) == loaded:
            assert time.monotonic() < end, f"{url} does not load"
            self._browser.listen(0.02)

    def find(self, script: str) -> Any:
        """The value of an expression in the page, a plain one."""
        found = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, f"{script}: {found['exceptionDetails']}"
        return found["result"].get("value")

    def until(self, script: str, seconds: float = DEADLINE) -> Any:
        """Wait until an expression is true; returns it. A page that is just being loaded is asked again."""
        end = time.monotonic() + seconds
        found = None
        while not found:
            assert time.monotonic() < end, f"waited too long for {script}"
            with suppress(AnotherPageError):
                found = self.find(script)
            if not found:
                time.sleep(0.02)
        return found

    def click(self, selector: str) -> None:
        """Press the mouse on the middle of an element, as it is on the screen."""
        place = f"document.querySelector({json.dumps(selector)})"
        self.find(f"{place}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.find(f"(({place}).getBoundingClientRect()).toJSON()")
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, **at)

    def press(self, key: str, shift: bool = False) -> None:
        """Press and release a key of KEYS."""
        code, text = KEYS[key]
        sent = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        sent["modifiers"] = SHIFT if shift else 0
        self._call("Input.dispatchKeyEvent", type="keyDown", **sent, **({"text": text} if text else {}))
        self._call("Input.dispatchKeyEvent", type="keyUp", **sent)

    def picture(self, path: Path) -> None:
        """Write the whole page, as long as it is, as PNG."""
        taken = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))
