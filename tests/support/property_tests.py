"""How many examples a property test tries, and whether they are the same every time.

Every day the examples follow from the test alone, so that a test that passes goes on passing until something changes.
`VFXGB_EXPLORE=50` tries 50 times as many examples as usual, and others each time. What such a run finds becomes an
explicit `@example` of its test.
"""

import os

from hypothesis import settings

FACTOR = int(os.environ.get("VFXGB_EXPLORE", "0"))


def load_profile() -> None:
    """Make `vfxgb` or, with VFXGB_EXPLORE, `explore` the profile of all property tests."""
    # Encryption is slow by hypothesis' standards, and two busy cores make any deadline a lottery.
    settings.register_profile("vfxgb", deadline=None, max_examples=25, print_blob=True, derandomize=True)
    settings.register_profile("explore", deadline=None, max_examples=25 * max(FACTOR, 1), print_blob=True)
    settings.load_profile("explore" if FACTOR else "vfxgb")


def examples(count: int) -> settings:
    """Decorate a property test that needs another number of examples than 25."""
    return settings(max_examples=count * max(FACTOR, 1))
