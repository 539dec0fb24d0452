"""What protocols share whose passive parties score their own candidates.

The active party tells the rule once a round and the nodes' totals once a level. A passive party makes left sums in the
way of its protocol, scores them with the code that the active party uses for its own features, and answers with the
best gain of each node. It remembers the split itself: a token says nothing (it is always 0), and of several splits
with the same gain the party takes the first in XGBoost's order. The active party knows the rows that go left at a
split, so it sums the children's gradients itself, exactly.
"""
