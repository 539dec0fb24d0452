"""A checksum inside a JSON document, so that a damaged file is told from a whole one.

The digest is of the contents, without spaces and in the order of the names: a document that was only laid out anew is
still whole. It guards against damage, not against people; whoever may change a file can change its checksum, too.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

FIELD = "checksum"


def checksum(document: Mapping[str, Any]) -> str:
    """SHA-256, hexadecimal, of a document of plain JSON values; a checksum that it has already is left out."""
    content = {name: value for name, value in document.items() if name != FIELD}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def is_whole(document: Mapping[str, Any]) -> bool:
    """Whether the contents are those that the checksum was made of; a document without one is taken as it is."""
    return FIELD not in document or document[FIELD] == checksum(document)
