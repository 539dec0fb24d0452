"""Protocol `ldp`: labels or gradients under local differential privacy, perturbed by the active party."""
