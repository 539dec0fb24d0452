"""What `masks` and `bcp` share: keys, shares, lists and stages of a call. They differ in how a vector is masked."""
