"""Few common ids: what the parties are told when their tables hardly meet."""

# Below this part of the smaller table the ids are more likely spelled differently than really different.
LOW_OVERLAP = 0.5


def overlap_hint(common: int, own: int, other: int) -> str:
    """What to look at when `common` of a table's `own` ids and of the `other` party's are the same; "" if nothing."""
    smaller = min(own, other)
    if smaller < 1 or common >= LOW_OVERLAP * smaller:
        return ""
    return (
        f"only {common:,} of {smaller:,} ids of the smaller table are common; if more should be, compare how ids are "
        "written at all parties and let normalise of [data] bring them to one spelling, the same list everywhere"
    )
