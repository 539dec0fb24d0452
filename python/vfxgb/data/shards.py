"""Shards: contiguous ranges of a source's rows, each the work of one task.

Ranges end where the source's natural parts end wherever that is possible, so that no part is read for two shards.
"""

from bisect import bisect_left, bisect_right
from itertools import pairwise

from vfxgb.data.source import Source
from vfxgb.errors import ParameterError

# Into how many pieces as much of a large part is cut as one shard may hold: how finely shards can be balanced there.
FINENESS = 16


def shard_ranges(source: Source, at_most: int | None, at_least_shards: int = 1) -> list[tuple[int, int]]:
    """Ranges (first, stop) that cover all rows in order, none empty, of about equal size.

    `at_most`: rows a shard may have, None for any number. At least `at_least_shards` ranges, or one per row where there
    are fewer. Parts are joined, and cut only if they are larger than a shard may be. The sizes differ by about a part.
    Raises ParameterError for a bound below 1.
    """
    return part_ranges(source.parts, at_most, at_least_shards)


def part_ranges(parts: tuple[int, ...], at_most: int | None, at_least_shards: int = 1) -> list[tuple[int, int]]:
    """shard_ranges of rows with these natural parts: edges, ascending from 0 to the number of rows."""
    if (at_most is not None and at_most < 1) or at_least_shards < 1:
        raise ParameterError(
            f"dividing rows into shards: found at most {at_most} rows and at least {at_least_shards} shards, "
            "wanted both to be 1 or more"
        )
    n_rows = parts[-1]
    most = n_rows if at_most is None else min(at_most, n_rows)
    fewest = min(at_least_shards, n_rows)
    piece = min(most, -(-n_rows // fewest))
    edges = _edges(parts, piece)
    while len(edges) - 1 < fewest:
        piece = max(1, piece // 2)
        edges = _edges(parts, piece)
    return _balanced(edges, most, fewest)


def _edges(parts: tuple[int, ...], most: int) -> list[int]:
    """Where shards may begin and end: the edges of all parts, and more of them within those of over `most` rows."""
    edges = [0]
    for start, end in pairwise(parts):
        rows = end - start
        pieces = 1 if rows <= most else min(rows, -(-rows // most) * FINENESS)
        edges += [start + rows * place // pieces for place in range(1, pieces + 1)]
    return edges


def _balanced(edges: list[int], most: int, fewest: int) -> list[tuple[int, int]]:
    """Make as few ranges between edges as the bounds allow, each ending as near to an even division as they allow."""
    last = len(edges) - 1
    # From the end: earliest[k] is the first edge from which k ranges of at most `most` rows reach the end.
    earliest = [last]
    while earliest[-1] > 0 or len(earliest) - 1 < fewest:
        earliest.append(bisect_left(edges, edges[earliest[-1]] - most))
    n_shards = len(earliest) - 1
    ranges, place = [], 0
    for shard in range(1, n_shards + 1):
        after = n_shards - shard
        low = max(place + 1, earliest[after])
        high = min(bisect_right(edges, edges[place] + most) - 1, last - after)
        goal = edges[last] * shard / n_shards
        above = bisect_left(edges, goal)
        nearest = above if above == 0 or edges[above] - goal < goal - edges[above - 1] else above - 1
        end = min(max(nearest, low), high)
        ranges.append((edges[place], edges[end]))
        place = end
    return ranges
