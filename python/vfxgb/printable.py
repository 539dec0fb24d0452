"""Text of unknown origin, made fit for a terminal, a log line or an error message.

What another party sends may hold escape sequences, line breaks or characters that reverse the direction of writing; a
terminal would obey them. They are shown as the escapes of a Python string instead: `\\x1b`, `\\n`, `\\u202e`.
"""


def printable(text: str) -> str:
    """The same text on one line, with an escape for every character that is not printable."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def printable_lines(text: str) -> str:
    """The same for text of several lines, such as a traceback; all but the first are indented.

    So no line of it can be mistaken for one that begins a message of ours.
    """
    return "\n    ".join(printable(line) for line in text.split("\n"))
